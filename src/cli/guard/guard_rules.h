#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/guard/git_diff.h"
#include "lease/predicate.h"

namespace holdfast {

/// An active lease, as the guard sees it.
struct SeenLease {
    std::string id;
    std::string resource;
    core::Predicate predicate = core::Predicate::mutates;
    std::string holder;
    std::string reason;
    std::chrono::milliseconds expires_in{0};
    std::string session;
};

/// Why a file must not be committed.
struct Finding {
    std::string resource;
    FileChange change = FileChange::modified;
    /// Who is in the way, eight at most; none: only that the committer holds no lease that allows the change.
    std::vector<SeenLease> others;
    /// What the committer holds that does not allow the change, and is in the way of a lease that does (G2).
    std::vector<SeenLease> weaker;
};

/// Decides who may commit what, from the leases that are active. It asks nobody.
///
/// A file is covered by a lease on it, or on a tree above it (work_tree_names.h). MUTATES allows any change, DELETES a
/// deletion, and RENAMES the two sides of a rename, which are a deletion and an addition. A lease of the committer
/// counts whatever its session: a commit is seldom made by the process that took the lease. A lease of another holder
/// that does not go together with the change (G2) refuses the commit, even if the committer has a lease too.
class GuardRules {
 public:
    GuardRules(std::string committer, std::vector<SeenLease> leases);

    /// What speaks against committing these files, in their order. Takes time in proportion to their depth.
    std::vector<Finding> check(const std::vector<TouchedFile>& files) const;

 private:
    template <class Visit>
    void visit_covering(std::string_view resource, Visit visit) const;

    std::string committer_;
    std::map<std::string, std::vector<SeenLease>, std::less<>> by_resource_;
};

/// How the committer gets what is missing: a session in which its weaker leases are not in its own way (G2), or else
/// the leases to give back first. Neither if there is nothing in its way.
struct ClaimAdvice {
    std::string session;
    std::vector<std::string> release;
};
ClaimAdvice claim_advice(const std::vector<Finding>& findings);

}  // namespace holdfast
