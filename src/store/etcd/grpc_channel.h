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

namespace holdfast::etcd {

struct GrpcAnswer {
    GrpcStatus status;
    std::string message;  ///< if that is ok
};

/// A connection to a server that speaks gRPC in cleartext: calls with one answer, and streams that bring messages until
/// they end. Everything that is begun in one turn of the loop is sent in one write, as far as the server has room.
///
/// Each call is answered in a later turn: by the server, with `deadline_exceeded` if it took too long (the server is
/// told that limit, too), with `resource_exhausted` if too much is under way already, or with `unavailable` once the
/// connection is lost. It is made for one connection; the next one is another channel.
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
        std::function<void(std::string why)> on_lost;  ///< before what was under way is answered
    };
    GrpcChannel(boost::asio::io_context& loop, Options options, Told told);
    /// Nothing is told or answered any more.
    ~GrpcChannel();

    /// Sent with every call from now on, besides what gRPC itself wants.
    void set_metadata(std::vector<std::pair<std::string, std::string>> metadata);

    void call(std::string_view path, std::string_view message, Callback<GrpcAnswer> reply);

    /// Without a time limit. The other end is not told that this was all that there is to be said.
    struct Stream {
        std::function<void(std::string_view message)> on_message;
        std::function<void(const GrpcStatus& status)> on_end;
    };
    void stream(std::string_view path, std::string_view message, Stream stream);

    /// As if the connection had been lost, but on_lost is not told.
    void close(const std::string& why);

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::etcd
