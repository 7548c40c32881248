#pragma once

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/callback.h"
#include "base/random.h"
#include "store/etcd/etcd_engine.h"
#include "store/etcd/grpc_channel.h"

namespace google::protobuf {
class MessageLite;
}

namespace holdfast::etcd {

class ResponseHeader;

namespace method {
inline constexpr std::string_view range = "/etcdserverpb.KV/Range";
inline constexpr std::string_view txn = "/etcdserverpb.KV/Txn";
inline constexpr std::string_view lease_grant = "/etcdserverpb.Lease/LeaseGrant";
inline constexpr std::string_view watch = "/etcdserverpb.Watch/Watch";
inline constexpr std::string_view status = "/etcdserverpb.Maintenance/Status";
inline constexpr std::string_view authenticate = "/etcdserverpb.Auth/Authenticate";
}  // namespace method

/// The way to a cluster: a connection to one member at a time. A member that does not answer in time, has no leader,
/// belongs to another cluster than before, or refuses what it will go on refusing (no space, no permission) is left for
/// the next; after all have been tried in vain there is a pause. Authenticates, and again when etcd no longer takes the
/// token.
///
/// Every answer must be of the cluster that is known, and of a revision no lower than any that was seen when it was
/// asked for. Else etcd was restored or replaced: the answer is not passed on, and the next connection is one to
/// another history. Another cluster is taken for that one only after all members have been tried for the old one.
class EtcdLink {
 public:
    struct Told {
        /// A member with a leader answers. Whatever else has to be settled with it must be before connect_within is
        /// over; ready() says that it is.
        std::function<void()> on_connected;
        /// Before on_connected, if etcd is in another history than before, or went back in it. Nothing is under way.
        std::function<void()> on_other_history;
        /// When it was ready, or when nobody answered at first; then again only if etcd itself gives another reason.
        /// Before what was under way is answered.
        std::function<void(const std::string& why)> on_lost;
    };
    EtcdLink(boost::asio::io_context& loop, const EtcdEngineOptions& options, Told told);
    ~EtcdLink();

    void start();
    /// Whatever is under way is answered; nothing is told any more.
    void stop();

    /// Answered in a later turn; with `unavailable` if there is no connection, or it has been lost.
    void call(std::string_view method, const google::protobuf::MessageLite& request, Callback<GrpcAnswer> reply);
    void stream(std::string_view method, const google::protobuf::MessageLite& request, GrpcChannel::Stream stream);

    void ready();
    /// Leaves this member for the next.
    void fail(const std::string& why);
    /// Likewise, and what was learnt so far is of another history than what etcd is in now.
    void lose_history(const std::string& why);
    /// True from then until there is the next connection.
    bool history_lost() const { return history_lost_; }

    bool is_ready() const { return ready_; }
    /// Another one with each connection.
    std::uint64_t connection() const { return connection_; }
    const std::string& member() const { return options_.members[member_]; }
    const std::string& version() const { return version_; }
    std::uint64_t cluster() const { return cluster_; }
    /// The highest that was seen in this history.
    std::int64_t revision() const { return revision_; }
    void saw(std::int64_t revision) { revision_ = std::max(revision_, revision); }
    const std::string& last_failure() const { return last_failure_; }

 private:
    struct Request {
        std::string_view method;
        std::string message;
        Callback<GrpcAnswer> reply;
        std::uint64_t connection = 0;
        std::int64_t least = 0;  ///< the revision that the answer must have reached
        bool again = false;
    };
    void attempt();
    void next_member();
    Duration next_pause();
    void send(std::unique_ptr<Request> request);
    void on_answer(std::unique_ptr<Request> request, GrpcAnswer answer);
    void judge(const Request& request, GrpcAnswer& answer);
    void on_trouble(GrpcStatus& status);
    /// Empty if it is still in the history that is known.
    std::string why_lost(const ResponseHeader& header, std::int64_t least) const;
    void authenticate(bool first);
    void on_authenticated(bool first, const GrpcAnswer& answer);
    void ask_status();
    void on_status(const GrpcAnswer& answer);
    void answer_those_without_token(const std::string& why);
    /// In a later turn, unless this is gone by then.
    void refuse(Callback<GrpcAnswer> reply, GrpcStatus status);
    void wait(Duration pause, void (EtcdLink::*then)());
    void took_too_long();

    boost::asio::io_context& loop_;
    EtcdEngineOptions options_;
    Told told_;
    Random random_;
    boost::asio::steady_timer timer_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::unique_ptr<GrpcChannel> channel_;
    std::vector<std::unique_ptr<Request>> without_token_;  ///< until there is another one
    std::uint64_t connection_ = 0, timed_ = 0;
    std::size_t member_ = 0, failures_ = 0;
    bool ready_ = false, lost_ = false, stopped_ = false, authenticating_ = false;
    std::string version_, last_failure_ = "it was not tried yet", told_why_;
    std::uint64_t cluster_ = 0;
    std::int64_t revision_ = 0;
    bool history_lost_ = false;  ///< what was seen of it is not there any more
};

}  // namespace holdfast::etcd
