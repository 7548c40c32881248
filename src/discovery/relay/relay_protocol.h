#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "discovery/directory/directory.h"
#include "discovery/relay/relay_session.h"
#include "discovery/relay/session_table.h"
#include "discovery/relay/stream_pump.h"
#include "discovery/relay/stream_table.h"

namespace holdfast::discovery::relay {

/// Implements the messages of docs/discovery.md: translates them to calls of the directory, keeps the table of streams,
/// and joins consumers with publishers. Leaves every decision to the directory that it can make.
///
/// Runs on the authority's thread. The door owns the connections; an answer that comes later looks its own up by
/// number.
class RelayProtocol : public std::enable_shared_from_this<RelayProtocol> {
 public:
    struct Limits {
        std::size_t max_publishers;
        StreamLimits streams;
    };
    RelayProtocol(directory::Directory& directory, Limits limits, SessionTable& sessions, StreamPump& pump)
        : directory_(directory),
          max_publishers_(limits.max_publishers),
          book_(limits.streams),
          sessions_(sessions),
          pump_(pump) {}

    /// Returns true for an update, which is slower than any other message.
    bool handle(RelaySession& session, Message message);
    void fail(RelaySession& session, const ErrorCode& code, std::string_view message, std::string_view relay = {});
    void withdraw(const directory::Withdrawal& withdrawal);
    void may_retry(const directory::RetryNotice& notice);

    /// The connection in this role is closed or about to be: gives up its offers and, unless the relay is stopping, its
    /// leases.
    void forget(std::uint64_t session, RelaySession::Role role);
    void stream_ended(std::uint64_t stream) { book_.ended(stream); }
    /// Notifies the consumers whose publisher did not answer in time, at most `most`.
    void advance(StreamTable::Time now, std::size_t most);

    /// Starts nothing new from now on. Leases are kept: a clean stop preserves them (S1), and their publishers come
    /// back.
    void stop() { stopping_ = true; }

    StreamTable& book() { return book_; }
    StreamTable::Time now{};  ///< the time of this turn

 private:
    void on(RelaySession& session, const PublisherHello& hello);
    void on(RelaySession& session, const SignedUpdate& update);
    void on(RelaySession& session, const StreamRefused& refused);
    void on(RelaySession& session, StreamRequest request);
    void on(RelaySession& session, const StreamAccept& accept);
    void answer(std::uint64_t session, UpdateResponse response);
    void join(RelaySession& consumer, RelaySession& data, const StreamTable::Opened& opened);
    void offer(RelaySession& consumer, const directory::Directory::Served& served);
    void explain(RelaySession& consumer, std::string name);
    void fail_consumer(std::uint64_t consumer, const ErrorCode& code, std::string_view message);

    directory::Directory& directory_;
    const std::size_t max_publishers_;
    StreamTable book_;
    SessionTable& sessions_;
    StreamPump& pump_;
    bool stopping_ = false;
};

}  // namespace holdfast::discovery::relay
