#pragma once

#include <map>

#include "base/time.h"
#include "discovery/relay/relay_session.h"

namespace holdfast::discovery::relay {

/// The connections of the relay's door by role, and for how long each may be silent in it. Closes none by itself.
class SessionTable {
 public:
    using Role = RelaySession::Role;

    /// A consumer's timeout is that of its ticket, and one that leaves is given the usual time to read the reason.
    struct Timeouts {
        Duration stranger, publisher;
    };
    SessionTable(Timeouts timeouts, const net::Door& door) : timeouts_(timeouts), door_(door) {}

    /// Null if the connection is gone.
    RelaySession* find(std::uint64_t id) const { return static_cast<RelaySession*>(door_.find(id)); }
    /// Sets the role of the connection and restarts its deadline.
    void list(RelaySession& session, Role role);
    /// Removes the session and transfers its socket to the caller. The session exists until the end of the turn.
    int hand_over(RelaySession& session);
    /// The session is closed.
    void remove(RelaySession& session);

    /// REQUIRES: there are strangers.
    RelaySession& oldest_stranger() const { return *strangers_.begin()->second; }
    std::size_t strangers() const { return strangers_.size(); }
    std::size_t publishers() const { return publishers_; }

 private:
    const Timeouts timeouts_;
    const net::Door& door_;
    std::map<std::uint64_t, RelaySession*> strangers_;  // by age
    std::size_t publishers_ = 0;
};

}  // namespace holdfast::discovery::relay
