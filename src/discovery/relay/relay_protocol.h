#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "discovery/directory/directory.h"
#include "discovery/relay/relay_session.h"
#include "discovery/relay/stream_pump.h"
#include "discovery/relay/stream_table.h"

namespace holdfast::relay {

/// What the messages of docs/discovery.md mean: translates them to calls of the directory, keeps the book of streams,
/// and joins who belongs together. Decides nothing that the directory can decide.
///
/// Runs on the authority's thread. Connections are the door's: the desk finds them by their number.
class RelayProtocol : public std::enable_shared_from_this<RelayProtocol> {
 public:
    /// What the desk asks of the door.
    class Door {
     public:
        virtual ~Door() = default;
        /// Null if it is gone.
        virtual RelaySession* find(std::uint64_t id) = 0;
        /// There is something to send, or to read.
        virtual void wake(RelaySession& session) = 0;
        /// What the connection is for from now on; its deadline begins anew.
        virtual void is_now(RelaySession& session, RelaySession::Role role) = 0;
        /// The socket is the caller's, and the session is over.
        virtual int hand_over(RelaySession& session) = 0;
    };

    RelayProtocol(core::Directory& directory, StreamLimits limits, Door& door, StreamPump& pump)
        : directory_(directory), book_(limits), door_(&door), pump_(pump) {}

    /// Returns true if it was an update, which takes longer than anything else.
    bool handle(RelaySession& session, discovery::Message message);
    void fail(RelaySession& session, std::string_view code, std::string_view message, std::string_view relay = {});
    void withdraw(const core::Withdrawal& withdrawal);
    void may_retry(const core::RetryNotice& notice);

    /// The connection is gone, or told to go: nothing is held or waited for in its name any more.
    void forget(const RelaySession& session);
    void stream_ended(std::uint64_t stream) { book_.ended(stream); }
    /// Tells those whose publisher did not answer in time, so many at most.
    void advance(StreamTable::Time now, std::size_t most);

    /// Nothing new is begun from now on. Leases stay as they are: a clean stop keeps them (S1), and their publishers
    /// come back.
    void stop() { stopping_ = true; }
    /// There is no door any more; answers that are under way find nobody.
    void leave() { door_ = nullptr; }

    StreamTable& book() { return book_; }
    StreamTable::Time now{};  ///< of this turn

 private:
    void on(RelaySession& session, const discovery::PublisherHello& hello);
    void on(RelaySession& session, const discovery::SignedUpdate& update);
    void on(RelaySession& session, const discovery::StreamRefused& refused);
    void on(RelaySession& session, discovery::StreamRequest request);
    void on(RelaySession& session, const discovery::StreamAccept& accept);
    void answer(std::uint64_t session, discovery::UpdateResponse response);
    void join(RelaySession& consumer, RelaySession& data, const StreamTable::Opened& opened);
    void offer(RelaySession& consumer, const core::Directory::Served& served);
    void explain(RelaySession& consumer, std::string name);
    void fail_consumer(std::uint64_t consumer, std::string_view code, std::string_view message);

    core::Directory& directory_;
    StreamTable book_;
    Door* door_;
    StreamPump& pump_;
    bool stopping_ = false;
};

}  // namespace holdfast::relay
