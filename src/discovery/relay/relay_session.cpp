#include "discovery/relay/relay_session.h"

#include <algorithm>
#include <utility>

#include "codec/frame.h"

namespace holdfast::discovery::relay {
namespace {

constexpr std::size_t max_input_bytes = 2 * (max_frame_bytes + codec::frame_header_bytes);
constexpr std::size_t max_answers_bytes = 64 * 1024;  // unread, before the next message is handled
constexpr std::size_t max_unread_bytes = 256 * 1024;  // including offers, before the connection is closed

}  // namespace

RelaySession::RelaySession(int socket, std::uint64_t id, std::string peer, Shared& shared)
    : transport_(socket), id_(id), peer_(std::move(peer)), shared_(shared) {}

// ---- input ----

bool RelaySession::wants_input() const {
    if (ended_ || broken_) return false;
    switch (role) {
        case Role::leaving:
            return true;
        case Role::consumer:
            return input_.size() - begin_ < max_early_bytes;
        default:
            return input_.size() - begin_ < max_input_bytes && unsent() < max_answers_bytes &&
                   under_way < max_under_way;
    }
}

void RelaySession::receive(bool hung_up) {
    if (!wants_input()) {
        broken_ |= hung_up;
        return;
    }
    const std::size_t bound = role == Role::consumer ? max_early_bytes : max_input_bytes;
    std::string& buffer = shared_.buffer;
    const std::size_t room = role == Role::leaving ? buffer.size() : bound - (input_.size() - begin_);
    const auto got = transport_.read_some({buffer.data(), std::min(room, buffer.size())});
    ended_ |= got.ended;
    broken_ |= got.error != 0;
    if (got.bytes == 0 || role == Role::leaving) return;
    compact();
    input_.append(buffer, 0, got.bytes);
}

void RelaySession::compact() {
    input_.erase(0, std::exchange(begin_, 0));
}

Result<std::optional<Message>> RelaySession::next_message() {
    std::string_view rest = std::string_view(input_).substr(begin_);
    const auto frame = codec::take_frame(rest, max_frame_bytes);
    if (!frame) return Error{"malformed", frame.error().message};
    if (!*frame) return std::optional<Message>();
    auto message = decode(**frame);
    begin_ = input_.size() - rest.size();
    if (begin_ == input_.size()) {
        begin_ = 0;
        std::string().swap(input_);
    }
    if (!message) return message.error();
    return std::optional(std::move(*message));
}

std::string RelaySession::take_input() {
    compact();
    return std::exchange(input_, {});
}

// ---- output ----

bool RelaySession::send() {
    if (broken_ || unsent() > max_unread_bytes) return false;
    const auto sent = transport_.write_some(std::string_view(output_).substr(sent_));
    if (sent.error != 0) return false;
    sent_ += sent.bytes;
    if (sent_ == output_.size()) {
        sent_ = 0;
        std::string().swap(output_);
    } else if (sent_ > max_answers_bytes) {
        output_.erase(0, std::exchange(sent_, 0));
    }
    return true;
}

void RelaySession::look_for_more() {
    const net::Poller::Interest interest{wants_input(), unsent() > 0};
    if (!is_open() || (interest.input == interest_.input && interest.output == interest_.output)) return;
    interest_ = interest;
    shared_.poller.change(socket(), this, transport_.wants(interest));
}

void RelaySession::end_sending() {
    broken_ |= !transport_.end_sending();
}

int RelaySession::release() {
    shared_.poller.remove(socket());
    return transport_.release();
}

void RelaySession::close() {
    if (!is_open()) return;
    shared_.poller.remove(socket());
    transport_.close();
}

}  // namespace holdfast::discovery::relay
