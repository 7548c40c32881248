#include "cli/guard/guard_rules.h"

#include <utility>

#include "cli/guard/work_tree_names.h"

namespace holdfast::cli::guard {
namespace {

using lease::Predicate;

/// One is enough to refuse; a few more show the user whom to talk to.
constexpr std::size_t max_others = 8;

bool allows(Predicate predicate, FileChange change) {
    if (predicate == Predicate::mutates) return true;
    if (predicate == Predicate::deletes) return change == FileChange::deleted;
    return predicate == Predicate::renames && change != FileChange::modified;
}

/// The committer's change of the file as a predicate (G2).
Predicate deed(FileChange change) {
    return change == FileChange::deleted ? Predicate::deletes : Predicate::mutates;
}

}  // namespace

GuardRules::GuardRules(std::string committer, std::vector<SeenLease> leases) : committer_(std::move(committer)) {
    for (SeenLease& lease : leases)
        by_resource_[to_nfc(lease.resource)].push_back(std::move(lease));
}

/// Visits the leases on the file and on every tree above it: `FILE:/a/b` is in `FILE:/a/**` and `FILE:/**`.
template <class Visit>
void GuardRules::visit_covering(std::string_view resource, Visit visit) const {
    const auto visit_all = [&](std::string_view name) {
        const auto found = by_resource_.find(name);
        if (found == by_resource_.end()) return;
        for (const SeenLease& lease : found->second)
            visit(lease);
    };
    visit_all(resource);
    for (std::size_t slash = resource.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = resource.rfind('/', slash - 1))
        visit_all(std::string(resource.substr(0, slash)) + "/**");
}

std::vector<Finding> GuardRules::check(const std::vector<TouchedFile>& files) const {
    std::vector<Finding> findings;
    for (const TouchedFile& file : files) {
        Finding finding{file_resource(file.path), file.change, {}, {}};
        bool allowed = false;
        visit_covering(finding.resource, [&](const SeenLease& lease) {
            if (lease.holder == committer_ && allows(lease.predicate, file.change))
                allowed = true;
            else if (lease.holder == committer_)
                finding.weaker.push_back(lease);
            else if (finding.others.size() < max_others && !lease::compatible(lease.predicate, deed(file.change)))
                finding.others.push_back(lease);
        });
        if (!allowed || !finding.others.empty()) findings.push_back(std::move(finding));
    }
    return findings;
}

ClaimAdvice claim_advice(const std::vector<Finding>& findings) {
    std::map<std::string, std::string> sessions;
    for (const Finding& finding : findings) {
        if (!finding.others.empty()) continue;
        for (const SeenLease& lease : finding.weaker)
            sessions[lease.id] = lease.session;
    }
    ClaimAdvice advice;
    if (sessions.empty()) return advice;
    const std::string& first = sessions.begin()->second;
    bool one_session = !first.empty();
    for (const auto& [id, session] : sessions) {
        one_session = one_session && session == first;
        advice.release.push_back(id);
    }
    if (one_session) return {first, {}};
    return advice;
}

}  // namespace holdfast::cli::guard
