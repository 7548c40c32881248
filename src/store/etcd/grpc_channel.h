#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/callback.h"
#include "base/time.h"
#include "store/etcd/grpc_session.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::store::etcd {

struct GrpcAnswer {
    GrpcStatus status;
    std::string message;  ///< if that is ok
};

/// A connection to a gRPC server in cleartext: calls with one reply, and streams that deliver messages until they end.
/// Everything begun in one turn of the loop is sent in one write, as far as flow control allows.
///
/// Each call is answered in a later turn: by the server, with `deadline_exceeded` on timeout (the deadline is also sent
/// to the server), with `resource_exhausted` if too much is in flight, or with `unavailable` once the connection is
/// lost. A channel is one connection; to reconnect, make a new channel.
class GrpcChannel {
 public:
    struct Options {
        std::string address;  ///< HOST:PORT
        Duration answer_within = 2s;
        std::size_t max_calls = 100'000;
        std::size_t max_unsent_bytes = 64 << 20;
    };
    struct Told {
        std::function<void()> on_open;
        std::function<void(std::string why)> on_lost;  ///< before the calls in flight are answered
    };
    GrpcChannel(boost::asio::io_context& loop, Options options, Told told);
    /// No callback runs afterwards.
    ~GrpcChannel();

    /// Sent with every call from now on, in addition to gRPC's own headers.
    void set_metadata(std::vector<std::pair<std::string, std::string>> metadata);

    void call(std::string_view path, std::string_view message, Callback<GrpcAnswer> reply);

    /// No deadline. The sending half stays open.
    struct Stream {
        std::function<void(std::string_view message)> on_message;
        std::function<void(const GrpcStatus& status)> on_end;
    };
    void stream(std::string_view path, std::string_view message, Stream stream);

    /// Like a lost connection, but without on_lost.
    void close(const std::string& why);

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::store::etcd
