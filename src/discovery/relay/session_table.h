#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "discovery/relay/relay_session.h"

namespace holdfast::relay {

/// The connections of the relay's door, by number and, for each role, in deadline order. Closes none by itself.
class SessionTable {
 public:
    using Role = RelaySession::Role;
    using Sessions = std::unordered_map<std::uint64_t, std::unique_ptr<RelaySession>>;

    /// How long a connection may be silent in each role. A consumer's timeout is that of its ticket.
    struct Timeouts {
        Duration stranger, publisher, leaving;
    };
    explicit SessionTable(Timeouts timeouts) : timeouts_(timeouts) {}

    /// Adds a connection as a stranger.
    RelaySession& add(std::unique_ptr<RelaySession> session);
    /// Null if the connection is gone or about to be closed.
    RelaySession* find(std::uint64_t id) const;
    /// Sets the role of the connection and restarts its deadline.
    void list(RelaySession& session, Role role);
    /// Removes its deadline.
    void unlist(RelaySession& session);
    /// Transfers the session to the caller. Null if it is gone.
    std::unique_ptr<RelaySession> take(std::uint64_t id);

    /// The connections past their deadline, at most `most` per role.
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
