#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::etcd {

/// How a call ended: one of gRPC's numbers, and a sentence.
struct GrpcStatus {
    enum Code : int {
        ok = 0,
        unknown = 2,
        deadline_exceeded = 4,
        not_found = 5,
        permission_denied = 7,
        resource_exhausted = 8,
        internal = 13,
        unavailable = 14,
        data_loss = 15,
        unauthenticated = 16,
    };
    int code = ok;
    std::string message;
};

struct GrpcLimits {
    std::size_t message_bytes = 64 << 20;    ///< of one that comes
    std::size_t buffered_bytes = 256 << 20;  ///< of all that have come in part
};

/// The client's side of gRPC on HTTP/2, without the socket: bytes in, bytes out. Each call is a stream.
class GrpcSession {
 public:
    using Stream = std::int32_t;

    explicit GrpcSession(GrpcLimits limits = {});
    ~GrpcSession();

    struct Header {
        std::string_view name, value;  ///< lower case
    };
    struct Request {
        std::string_view authority, path;
        std::span<const Header> metadata;
        std::string_view message;
        bool stays_open = false;  ///< more might be sent: the other end must not take this for all
    };
    /// Nothing if no more can be begun on this connection.
    std::optional<Stream> begin(const Request& request);
    /// Nothing more is told of it.
    void cancel(Stream stream);

    /// Appends what there is to be sent, as far as the other end has room for it.
    void take_output(std::string& out);
    /// Of what was begun, and is not in any output yet.
    std::size_t unsent_bytes() const;

    void receive(std::string_view bytes);

    /// What has become of the streams, by what was received or sent since: a message, or the end.
    struct Event {
        Stream stream = 0;
        std::string message;
        std::optional<GrpcStatus> end;
    };
    std::vector<Event> take_events();

    /// Why nothing can come of this connection any more.
    const std::optional<std::string>& broken() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::etcd
