#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "discovery/relay/relay_session.h"

namespace holdfast::relay {

/// The connections of the relay's door: each found by its number, and listed with those of its role in the order of
/// their deadlines. Closes nothing by itself.
class SessionTable {
 public:
    using Role = RelaySession::Role;
    using Sessions = std::unordered_map<std::uint64_t, std::unique_ptr<RelaySession>>;

    /// How long a connection may be in a role without a sign of life. A consumer's time is that of its ticket.
    struct Timeouts {
        Duration stranger, publisher, leaving;
    };
    explicit SessionTable(Timeouts timeouts) : timeouts_(timeouts) {}

    /// As a stranger.
    RelaySession& add(std::unique_ptr<RelaySession> session);
    /// Null if it is gone, or about to be.
    RelaySession* find(std::uint64_t id) const;
    /// What the connection is for from now on; its deadline begins anew.
    void list(RelaySession& session, Role role);
    /// It has no deadline any more.
    void unlist(RelaySession& session);
    /// The caller's from now on. Null if it is gone.
    std::unique_ptr<RelaySession> take(std::uint64_t id);

    /// Those whose deadline has passed, so many of each role at most.
    std::vector<RelaySession*> overdue(std::size_t most) const;
    /// REQUIRES: there are strangers.
    RelaySession& oldest_stranger() const { return *strangers_.front(); }

    std::size_t strangers() const { return strangers_.size(); }
    std::size_t publishers() const { return publishers_.size(); }
    std::size_t leaving() const { return leaving_.size(); }
    const Sessions& all() const { return sessions_; }
    void clear() { sessions_.clear(); }

 private:
    void list_in(DeadlineList& list, RelaySession& session, Duration timeout);

    const Timeouts timeouts_;
    Sessions sessions_;
    DeadlineList strangers_, publishers_, leaving_;
};

}  // namespace holdfast::relay
