#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "discovery/relay/relay_session.h"

namespace holdfast::discovery::relay {

/// The connections of the relay's door: by number, for each role in deadline order, and those that can continue. Closes
/// none by itself.
class SessionTable {
 public:
    using Role = RelaySession::Role;
    using Sessions = std::unordered_map<std::uint64_t, std::unique_ptr<RelaySession>>;

    /// How long a connection may be silent in each role. A consumer's timeout is that of its ticket.
    struct Timeouts {
        Duration stranger, publisher, leaving;
    };
    /// `on_work` is called whenever a connection is woken.
    SessionTable(Timeouts timeouts, std::function<void()> on_work)
        : timeouts_(timeouts), on_work_(std::move(on_work)) {}

    /// Adds a connection as a stranger.
    RelaySession& add(std::unique_ptr<RelaySession> session);
    /// Null if the connection is gone or about to be closed.
    RelaySession* find(std::uint64_t id) const;
    /// Sets the role of the connection and restarts its deadline.
    void list(RelaySession& session, Role role);
    /// Removes its deadline.
    void unlist(RelaySession& session);
    /// Removes the session and transfers its socket to the caller. The session is destroyed by bury().
    int hand_over(RelaySession& session);
    /// Removes and closes the session, which is destroyed by bury().
    void close(RelaySession& session);
    /// Destroys the removed sessions, to be called when nothing refers to one any more.
    void bury() { removed_.clear(); }

    /// The connection has something to send or to read.
    void wake(RelaySession& session);
    /// The connections that were woken.
    net::RunQueue<RelaySession>& queue() { return queue_; }

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
    const std::function<void()> on_work_;
    Sessions sessions_;
    std::vector<std::unique_ptr<RelaySession>> removed_;
    net::RunQueue<RelaySession> queue_;
    DeadlineList strangers_, publishers_, leaving_;
};

}  // namespace holdfast::discovery::relay
