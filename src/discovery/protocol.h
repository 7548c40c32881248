#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/code.h"
#include "base/result.h"
#include "base/time.h"

namespace holdfast::discovery {

inline constexpr std::uint32_t protocol_version = 1;
inline constexpr std::size_t max_frame_bytes = 16 * 1024;
inline constexpr std::size_t ticket_bytes = 16;

enum class Action : std::uint8_t { enter, renew, unregister };

/// One message for registering, renewing and ending an advertisement (D1). docs/discovery.md explains each field.
struct Update {
    Action action = Action::enter;
    std::string name{};  ///< empty in a registration: a service without a name
    std::uint64_t token = 0;
    bool returning = false;
    Duration ttl{};  ///< zero: the default
    std::string address{};
    std::vector<std::string> alpn{};
    std::vector<std::pair<std::string, std::string>> metadata{};
    std::uint64_t relay = 0;   ///< the relay incarnation that it is for
    std::int64_t time_ms = 0;  ///< the publisher's estimate of that relay's clock
    std::uint64_t nonce = 0;

    bool operator==(const Update&) const = default;
};

/// The signed bytes. The signature covers its purpose, followed by these.
std::string encode(const Update& update);
/// Error `malformed`. The contents of the fields are checked later, by the directory (discovery/directory).
Result<Update> decode_update(std::string_view bytes);

struct SignedUpdate {
    std::string request{};  ///< encode()d
    std::string public_key{};
    std::string signature{};
    std::uint32_t number = 0;  ///< matches the response to its request

    bool operator==(const SignedUpdate&) const = default;
};

struct UpdateResponse {
    std::uint32_t number = 0;
    std::optional<ErrorCode> refused{};  ///< on the wire, the code is `ok` otherwise
    std::string message{};
    std::string name{};
    std::uint64_t token = 0;
    Duration ttl{};
    Duration expires_in{};
    Duration renew_in{};
    Duration retry_in{};
    std::int64_t time_ms = 0;  ///< the relay's clock
    std::uint64_t relay = 0;   ///< the relay's incarnation

    bool operator==(const UpdateResponse&) const = default;
};

struct PublisherHello {
    std::uint32_t version = protocol_version;
    bool knows_may_retry = true;
    bool operator==(const PublisherHello&) const = default;
};
struct RelayHello {
    std::uint32_t version = protocol_version;
    std::uint64_t relay = 0;
    std::int64_t time_ms = 0;
    bool operator==(const RelayHello&) const = default;
};
struct StreamOffer {
    std::string ticket{};
    std::string name{};
    std::string consumer{};
    bool operator==(const StreamOffer&) const = default;
};
struct StreamRefused {
    std::string ticket{};
    std::string message{};
    bool not_held = false;
    bool operator==(const StreamRefused&) const = default;
};
struct Withdrawn {
    std::string name{};
    std::uint64_t token = 0;
    ErrorCode code{};
    std::string message{};
    bool operator==(const Withdrawn&) const = default;
};
struct MayRetry {
    std::string name{};
    Duration within{};
    bool operator==(const MayRetry&) const = default;
};
struct StreamRequest {
    std::uint32_t version = protocol_version;
    std::string name{};
    bool operator==(const StreamRequest&) const = default;
};
struct StreamAccept {
    std::uint32_t version = protocol_version;
    std::string ticket{};
    bool operator==(const StreamAccept&) const = default;
};
struct StreamOpened {
    bool operator==(const StreamOpened&) const = default;
};
struct StreamFailed {
    ErrorCode code{};
    std::string message{};
    std::string relay{};
    bool operator==(const StreamFailed&) const = default;
};

using Message = std::variant<PublisherHello, RelayHello, SignedUpdate, UpdateResponse, StreamOffer, StreamRefused,
                             Withdrawn, MayRetry, StreamRequest, StreamAccept, StreamOpened, StreamFailed>;

/// Appends the message as a frame, with its length. REQUIRES: it is within max_frame_bytes.
void append_frame(const Message& message, std::string& out);

/// Decodes a frame's body, without its length. Error `malformed`.
Result<Message> decode(std::string_view body);

}  // namespace holdfast::discovery
