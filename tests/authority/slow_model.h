#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lease/rules.h"

namespace holdfast::authority {

/// What the authority should do, said as plainly as possible: every lease ever granted in one list, searched from end
/// to end each time. No waiting, no sweeping, no packing.
class SlowModel {
 public:
    struct Entry {
        std::string resource, holder, session;
        lease::Predicate predicate;
        lease::Token token;
        Instant expires_at;
        Duration ttl;
        bool renewable = true;
        std::optional<lease::Ending> ended;
        Instant ended_at;
        bool resumable = false;
        std::optional<Instant> reserved_until;  // R5
    };
    struct Agent {
        lease::Priority priority = 0;
        std::uint64_t epoch = 1;
        bool restarting = false;
    };

    lease::Policy policy;
    std::map<std::string, Agent> agents;

    /// The tokens of those in the way, or why it is refused; empty: granted, and added with these tokens.
    struct Verdict {
        std::optional<Code> refused;
        std::multiset<lease::Token> in_the_way;
        bool die = false;  // G5
    };
    struct Asked {
        std::string holder, session;
        std::optional<std::uint64_t> epoch;
        std::vector<std::pair<std::string, lease::Predicate>> intents;
        Duration ttl;
    };
    Verdict acquire(const Asked& asked, Instant now);
    void add(const Asked& asked, const std::vector<lease::Token>& tokens, Instant now);

    std::optional<Code> renew(const std::string& resource, lease::Token token, const std::string& holder, Instant now);
    /// What the release says: the state the lease is in afterwards, or nothing if it is another's.
    std::optional<lease::LeaseState> release(const std::string& resource, lease::Token token, const std::string& holder,
                                             Instant now);
    std::optional<Code> revoke(const std::string& resource, lease::Token token, Instant now);
    std::optional<Code> bar(const std::string& resource, lease::Token token, Instant now);
    std::size_t declare_restart(const std::string& agent, Instant now);
    lease::LeaseState state(const std::string& resource, lease::Token token, Instant now);
    std::set<lease::Token> current(const std::string& resource, Instant now);
    std::set<lease::Token> of_holder(const std::string& holder, Instant now);

    const std::vector<Entry>& entries() const { return entries_; }

 private:
    void expire(Instant now);
    bool in_the_way(const Entry& entry, const Asked& asked, const std::string& resource, lease::Predicate predicate,
                    Instant now) const;
    void free_reserved(const std::string& resource, const std::string& holder);
    Entry* find(const std::string& resource, lease::Token token);
    Code code_for(const std::string& resource, lease::Token token, Instant now);

    std::vector<Entry> entries_;
};

}  // namespace holdfast::authority
