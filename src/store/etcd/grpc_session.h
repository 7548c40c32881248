#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::store::etcd {

/// How a call ended: a gRPC status code and a message.
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
    std::size_t message_bytes = 64 << 20;    ///< of one incoming message
    std::size_t buffered_bytes = 256 << 20;  ///< of all partly received messages
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
        bool stays_open = false;  ///< do not end the sending half
    };
    /// Returns nothing if the connection accepts no more streams.
    std::optional<Stream> begin(const Request& request);
    /// No further events of this stream.
    void cancel(Stream stream);

    /// Appends the pending output, as far as flow control allows.
    void take_output(std::string& out);
    /// Bytes of begun calls that are in no output yet.
    std::size_t unsent_bytes() const;

    void receive(std::string_view bytes);

    /// Stream events since the last call: a message, or the end.
    struct Event {
        Stream stream = 0;
        std::string message;
        std::optional<GrpcStatus> end;
    };
    std::vector<Event> take_events();

    /// Why the connection is unusable, if it is.
    const std::optional<std::string>& broken() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::store::etcd
