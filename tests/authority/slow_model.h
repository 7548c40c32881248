#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lease/rules.h"

namespace holdfast::core {

/// What the authority should do, said as plainly as possible: every lease ever granted in one list, searched from end
/// to end each time. No waiting, no sweeping, no packing.
class SlowModel {
 public:
    struct Entry {
        std::string resource, holder, session;
        Predicate predicate;
        Token token;
        Instant expires_at;
        Duration ttl;
        bool renewable = true;
        std::optional<Ending> ended;
        Instant ended_at;
    };

    Policy policy;

    /// The tokens of those in the way, or why it is refused; empty: granted, and added with these tokens.
    struct Verdict {
        std::optional<Code> refused;
        std::multiset<Token> in_the_way;
    };
    struct Asked {
        std::string holder, session;
        std::vector<std::pair<std::string, Predicate>> intents;
        Duration ttl;
    };
    Verdict acquire(const Asked& asked, Instant now);
    void add(const Asked& asked, const std::vector<Token>& tokens, Instant now);

    std::optional<Code> renew(const std::string& resource, Token token, const std::string& holder, Instant now);
    /// What the release says: the state the lease is in afterwards, or nothing if it is another's.
    std::optional<LeaseState> release(const std::string& resource, Token token, const std::string& holder, Instant now);
    std::optional<Code> revoke(const std::string& resource, Token token, Instant now);
    std::optional<Code> bar(const std::string& resource, Token token, Instant now);
    LeaseState state(const std::string& resource, Token token, Instant now);
    std::set<Token> current(const std::string& resource, Instant now);
    std::set<Token> of_holder(const std::string& holder, Instant now);

    const std::vector<Entry>& entries() const { return entries_; }

 private:
    void expire(Instant now);
    Entry* find(const std::string& resource, Token token);
    Code code_for(const std::string& resource, Token token, Instant now);

    std::vector<Entry> entries_;
};

}  // namespace holdfast::core
