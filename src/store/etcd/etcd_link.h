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

namespace holdfast::store::etcd {

class ResponseHeader;

namespace method {
inline constexpr std::string_view range = "/etcdserverpb.KV/Range";
inline constexpr std::string_view txn = "/etcdserverpb.KV/Txn";
inline constexpr std::string_view lease_grant = "/etcdserverpb.Lease/LeaseGrant";
inline constexpr std::string_view watch = "/etcdserverpb.Watch/Watch";
inline constexpr std::string_view status = "/etcdserverpb.Maintenance/Status";
inline constexpr std::string_view authenticate = "/etcdserverpb.Auth/Authenticate";
}  // namespace method

/// The link to a cluster: a connection to one member at a time. A member that times out, has no leader, belongs to
/// another cluster than before, or fails permanently (no space, no permission) is left for the next; after all members
/// have failed there is a pause. Authenticates, and again when etcd rejects the token.
///
/// Every reply must come from the known cluster, with a revision no lower than any seen when the request was sent.
/// Otherwise etcd was restored or replaced: the reply is not passed on, and the next connection is to another history.
/// Another cluster is accepted as such only after all members have been tried for the old one.
class EtcdLink {
 public:
    struct Told {
        /// A member with a leader answers. The owner must complete its own setup before connect_within is over, and
        /// then call ready().
        std::function<void()> on_connected;
        /// Called before on_connected, if etcd is in another history than before, or went back in it. Nothing is in
        /// flight.
        std::function<void()> on_other_history;
        /// Called when a ready link is lost or the first attempts fail; then again only if etcd itself gives another
        /// reason. Called before the requests in flight are answered.
        std::function<void(const std::string& why)> on_lost;
    };
    EtcdLink(boost::asio::io_context& loop, const EtcdEngineOptions& options, Told told);
    ~EtcdLink();

    void start();
    /// Answers everything in flight. No callback of Told runs afterwards.
    void stop();

    /// Answered in a later turn; with `unavailable` if there is no connection or it was lost.
    void call(std::string_view method, const google::protobuf::MessageLite& request, Callback<GrpcAnswer> reply);
    void stream(std::string_view method, const google::protobuf::MessageLite& request, GrpcChannel::Stream stream);

    void ready();
    /// Leaves this member for the next.
    void fail(const std::string& why);
    /// The same, and everything learnt so far belongs to another history than etcd's present one.
    void lose_history(const std::string& why);
    /// True from lose_history() until the next connection.
    bool history_lost() const { return history_lost_; }

    bool is_ready() const { return ready_; }
    /// Changes with each connection.
    std::uint64_t connection() const { return connection_; }
    const std::string& member() const { return options_.members[member_]; }
    const std::string& version() const { return version_; }
    std::uint64_t cluster() const { return cluster_; }
    /// The highest revision seen in this history.
    std::int64_t revision() const { return revision_; }
    void saw(std::int64_t revision) { revision_ = std::max(revision_, revision); }
    const std::string& last_failure() const { return last_failure_; }

 private:
    struct Request {
        std::string_view method;
        std::string message;
        Callback<GrpcAnswer> reply;
        std::uint64_t connection = 0;
        std::int64_t least = 0;  ///< minimum revision of the reply
        bool again = false;
    };
    void attempt();
    void next_member();
    Duration next_pause();
    void send(std::unique_ptr<Request> request);
    void on_answer(std::unique_ptr<Request> request, GrpcAnswer answer);
    void judge(const Request& request, GrpcAnswer& answer);
    void on_trouble(GrpcStatus& status);
    /// Empty if the reply belongs to the known history.
    std::string why_lost(const ResponseHeader& header, std::int64_t least) const;
    void authenticate(bool first);
    void on_authenticated(bool first, const GrpcAnswer& answer);
    void ask_status();
    void on_status(const GrpcAnswer& answer);
    void answer_those_without_token(const std::string& why);
    /// In a later turn, unless the link was destroyed by then.
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
    std::vector<std::unique_ptr<Request>> without_token_;  ///< waiting for a new token
    std::uint64_t connection_ = 0, timed_ = 0;
    std::size_t member_ = 0, failures_ = 0;
    bool ready_ = false, lost_ = false, stopped_ = false, authenticating_ = false;
    std::string version_, last_failure_ = "it was not tried yet", told_why_;
    std::uint64_t cluster_ = 0;
    std::int64_t revision_ = 0;
    bool history_lost_ = false;  ///< the history seen so far no longer exists
};

}  // namespace holdfast::store::etcd
