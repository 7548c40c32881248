#include "discovery/directory/applicants.h"

#include "discovery/directory/service_limits.h"

namespace holdfast::discovery::directory {

void Applicants::drop(std::list<Entry>::iterator entry) {
    by_identity_.erase(entry->applicant.identity);
    entries_.erase(entry);
}

void Applicants::refused(Directory::Waiting applicant, Instant now) {
    if (const auto known = by_identity_.find(applicant.identity); known != by_identity_.end()) drop(known->second);
    if (entries_.size() >= limits::applicants) drop(entries_.begin());
    entries_.push_back({std::move(applicant), now});
    by_identity_.emplace(entries_.back().applicant.identity, std::prev(entries_.end()));
}

void Applicants::reconsider(const lease::Policy& policy) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        const auto next = std::next(entry);
        const std::string& identity = entry->applicant.identity;
        const bool waits = policy.approval == lease::Approval::manual && !policy.approved.contains(identity) &&
                           !policy.bans.contains(identity);
        if (!waits) drop(entry);
        entry = next;
    }
}

void Applicants::advance(Instant now) {
    while (now >= next_due())
        drop(entries_.begin());
}

Instant Applicants::next_due() const {
    return entries_.empty() ? Instant::max() : entries_.front().seen_at + limits::applicant_kept;
}

std::vector<Directory::Waiting> Applicants::all() const {
    std::vector<Directory::Waiting> listed;
    listed.reserve(entries_.size());
    for (const Entry& entry : entries_)
        listed.push_back(entry.applicant);
    return listed;
}

}  // namespace holdfast::discovery::directory
