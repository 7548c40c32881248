#include "discovery/relay/relay_session.h"

#include "codec/frame.h"

namespace holdfast::discovery::relay {
namespace {

constexpr std::size_t max_input_bytes = 64 * 1024;    // several messages, or the beginning of a consumer's stream
constexpr std::size_t max_answers_bytes = 64 * 1024;  // unread, before the next message is handled
constexpr std::size_t max_unread_bytes = 256 * 1024;  // including offers, before the connection is closed

}  // namespace

RelaySession::RelaySession(net::Admitted admitted, Owner& owner, Duration write_timeout)
    : Connection(std::move(admitted), {max_input_bytes, write_timeout}), owner_(owner) {}

bool RelaySession::wants_input() const {
    return role == Role::consumer || (unsent() < max_answers_bytes && under_way < max_under_way);
}

Result<std::optional<Message>> RelaySession::next_message() {
    std::string_view rest = input();
    const auto frame = codec::take_frame(rest, max_frame_bytes);
    if (!frame) return Error{Code::malformed, frame.error().message};
    if (!*frame) return std::optional<Message>();
    consume(input().size() - rest.size());
    auto message = decode(**frame);
    if (!message) return message.error();
    return std::optional(std::move(*message));
}

std::string RelaySession::take_input() {
    std::string bytes(input());
    consume(bytes.size());
    return bytes;
}

bool RelaySession::run() {
    const bool has_more = owner_.on_messages(*this);
    if (is_closed()) return false;  // handed over
    if (unsent() > max_unread_bytes) give_up("it does not read its answers");
    // A consumer may have sent all that it has to say, and wait for its stream.
    if (has_ended() && !has_more && under_way == 0 && role != Role::consumer) finish();
    return has_more;
}

void RelaySession::on_check(Clock::time_point time) {
    if (time >= deadline) give_up("it was silent for too long");
}

}  // namespace holdfast::discovery::relay
