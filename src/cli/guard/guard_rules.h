#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/guard/git_repository.h"
#include "lease/predicate.h"

namespace holdfast::cli::guard {

/// An active lease, as the guard sees it.
struct SeenLease {
    std::string id;
    std::string resource;
    lease::Predicate predicate = lease::Predicate::mutates;
    std::string holder;
    std::string reason;
    std::chrono::milliseconds expires_in{0};
    std::string session;
};

/// The reason why a file must not be committed.
struct Finding {
    std::string resource;
    FileChange change = FileChange::modified;
    /// The conflicting leases, at most eight. Empty: the only problem is that the committer holds no lease that allows
    /// the change.
    std::vector<SeenLease> others;
    /// The committer's own leases that do not allow the change, and conflict with a lease that does (G2).
    std::vector<SeenLease> weaker;
};

/// Decides from the active leases which files the committer may commit. No I/O.
///
/// A file is covered by a lease on it, or on a tree above it (work_tree_names.h). MUTATES allows any change, DELETES a
/// deletion, and RENAMES the two sides of a rename, which are a deletion and an addition. A lease of the committer
/// counts whatever its session: a commit is seldom made by the process that took the lease. A lease of another holder
/// that does not go together with the change (G2) refuses the commit, even if the committer has a lease too.
class GuardRules {
 public:
    GuardRules(std::string committer, std::vector<SeenLease> leases);

    /// The findings against committing these files, in their order. The time is proportional to their depth.
    std::vector<Finding> check(const std::vector<TouchedFile>& files) const;

 private:
    template <class Visit>
    void visit_covering(std::string_view resource, Visit visit) const;

    std::string committer_;
    std::map<std::string, std::vector<SeenLease>, std::less<>> by_resource_;
};

/// How the committer gets the missing lease: a session in which its weaker leases do not conflict (G2), or else the
/// leases to release first. Both are empty if nothing conflicts.
struct ClaimAdvice {
    std::string session;
    std::vector<std::string> release;
};
ClaimAdvice claim_advice(const std::vector<Finding>& findings);

}  // namespace holdfast::cli::guard
