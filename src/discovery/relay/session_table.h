#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "discovery/relay/relay_session.h"
#include "net/turns_of.h"

namespace holdfast::discovery::relay {

/// The connections of the relay's door: by number, and for each role in deadline order. Closes none by itself.
class SessionTable {
 public:
    using Role = RelaySession::Role;
    using Sessions = std::unordered_map<std::uint64_t, std::unique_ptr<RelaySession>>;

    /// How long a connection may be silent in each role. A consumer's timeout is that of its ticket.
    struct Timeouts {
        Duration stranger, publisher, leaving;
    };
    SessionTable(Timeouts timeouts, net::TurnsOf<RelaySession>& turns) : timeouts_(timeouts), turns_(turns) {}

    /// Adds a connection as a stranger.
    RelaySession& add(std::unique_ptr<RelaySession> session);
    /// Null if the connection is gone or about to be closed.
    RelaySession* find(std::uint64_t id) const;
    /// Sets the role of the connection and restarts its deadline.
    void list(RelaySession& session, Role role);
    /// Removes its deadline.
    void unlist(RelaySession& session);
    /// Removes the session and transfers its socket to the caller. The session exists until the end of the turn.
    int hand_over(RelaySession& session);
    /// Removes and closes the session, which exists until the end of the turn.
    void close(RelaySession& session);

    /// The connection has something to send or to read.
    void wake(RelaySession& session) { turns_.wake(session); }

    /// The connections past their deadline, at most `most` per role.
    std::vector<RelaySession*> overdue(std::size_t most) const;
    /// REQUIRES: there are strangers.
    RelaySession& oldest_stranger() const { return *strangers_.front(); }

    std::size_t strangers() const { return strangers_.size(); }
    std::size_t publishers() const { return publishers_.size(); }
    std::size_t leaving() const { return leaving_.size(); }
    const Sessions& all() const { return sessions_; }
    /// Null if it is gone; found even if it is about to be closed.
    RelaySession* find_departed(std::uint64_t id) const;
    void clear() { sessions_.clear(); }

 private:
    void list_in(DeadlineList& list, RelaySession& session, Duration timeout);
    void remove(RelaySession& session);

    const Timeouts timeouts_;
    net::TurnsOf<RelaySession>& turns_;
    Sessions sessions_;
    DeadlineList strangers_, publishers_, leaving_;
};

}  // namespace holdfast::discovery::relay
