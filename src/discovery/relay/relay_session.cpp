#include "discovery/relay/relay_session.h"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "codec/frame.h"

namespace holdfast::discovery::relay {
namespace {

constexpr std::size_t max_input_bytes = 2 * (max_frame_bytes + codec::frame_header_bytes);
constexpr std::size_t max_answers_bytes = 64 * 1024;  // unread, before the next message is handled
constexpr std::size_t max_unread_bytes = 256 * 1024;  // including offers, before the connection is closed

}  // namespace

RelaySession::RelaySession(int socket, std::uint64_t id, std::string peer, net::Poller& poller)
    : socket_(socket), id_(id), peer_(std::move(peer)), poller_(poller) {}

RelaySession::~RelaySession() {
    if (is_open()) ::close(socket_);
}

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

void RelaySession::receive(std::string& buffer, bool hung_up) {
    if (!wants_input()) {
        broken_ |= hung_up;
        return;
    }
    const std::size_t bound = role == Role::consumer ? max_early_bytes : max_input_bytes;
    const std::size_t room = role == Role::leaving ? buffer.size() : bound - (input_.size() - begin_);
    const ssize_t got = ::recv(socket_, buffer.data(), std::min(room, buffer.size()), 0);
    if (got > 0 && role != Role::leaving) {
        compact();
        input_.append(buffer, 0, static_cast<std::size_t>(got));
    } else if (got == 0) {
        ended_ = true;
    } else if (got < 0 && errno != EAGAIN && errno != EINTR) {
        broken_ = true;
    }
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
    while (sent_ < output_.size()) {
        const ssize_t took = ::send(socket_, output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
        if (took < 0 && errno == EINTR) continue;
        if (took < 0 && errno != EAGAIN) return false;
        if (took < 0) break;
        sent_ += static_cast<std::size_t>(took);
    }
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
    poller_.change(socket_, this, interest);
}

void RelaySession::end_sending() {
    ::shutdown(socket_, SHUT_WR);
}

int RelaySession::release() {
    poller_.remove(socket_);
    return std::exchange(socket_, -1);
}

void RelaySession::close() {
    if (is_open()) ::close(release());
}

}  // namespace holdfast::discovery::relay
