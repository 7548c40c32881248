#pragma once

#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "discovery/directory/directory.h"
#include "lease/policy.h"

namespace holdfast::discovery::directory {

/// Identities that were refused because they are not approved, so that an admin sees whom to approve. At the limit, the
/// oldest are dropped.
class Applicants {
 public:
    void refused(Directory::Waiting applicant, Instant now);
    /// Removes the identities that need no approval any more.
    void reconsider(const lease::Policy& policy);
    void advance(Instant now);
    Instant next_due() const;

    std::vector<Directory::Waiting> all() const;  ///< latest last
    std::size_t size() const { return by_identity_.size(); }

 private:
    struct Entry {
        Directory::Waiting applicant;
        Instant seen_at;
    };
    std::list<Entry> entries_;  // latest last
    std::map<std::string, std::list<Entry>::iterator, std::less<>> by_identity_;

    void drop(std::list<Entry>::iterator entry);
};

}  // namespace holdfast::discovery::directory
