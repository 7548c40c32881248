#include "doors/http/connection.h"

#include <algorithm>
#include <cstring>

namespace holdfast::doors::http {
namespace {

constexpr std::size_t input_bytes_first = 4 * 1024;
constexpr std::size_t buffer_bytes_kept = 64 * 1024;
constexpr auto linger_for = 2s;

}  // namespace

Connection::Connection(int socket, Turns& turns, Duration write_timeout)
    : transport_(socket), turns_(turns), write_timeout_(write_timeout) {}

bool Connection::peer_is_there() const {
    return !ended_ && !is_closed() && holdfast::net::peer_is_there(transport_.fd());
}

void Connection::wake() {
    if (!is_closed()) turns_.wake(*this);
}

// ---- input ----

/// Moves the unread input to the front, or grows the buffer if it is there already.
void Connection::make_room() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (end_ < input_.size()) return;
    if (begin_ > 0) {
        std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
    } else {
        input_.resize(std::min(std::max(input_.size() * 4, input_bytes_first), max_input_bytes));
    }
}

void Connection::receive(bool hung_up) {
    if (is_closed()) return;
    if (!wants_input()) {
        broken_ |= hung_up;
        return;
    }
    if (finishing_) begin_ = end_;
    make_room();
    const auto got = transport_.read_some({input_.data() + end_, input_.size() - end_});
    end_ += got.bytes;
    ended_ |= got.ended;
    broken_ |= got.error != 0;
}

void Connection::handle() {
    if (is_closed()) return;
    if (broken_ || (lingering_ && ended_)) return close();
    const bool has_more = !finishing_ && run();
    flush();
    if (has_more && queued() == 0) wake();
}

// ---- output ----

void Connection::flush() {
    if (is_closed()) return;
    const auto sent = transport_.write_some(std::string_view(output_).substr(sent_));
    if (sent.error != 0) return close();
    sent_ += sent.bytes;
    if (queued() == 0)
        all_written();
    else
        some_written(sent.bytes);
    if (!is_closed()) look_for({wants_input(), queued() > 0});
}

/// The rest has to wait until the peer reads.
void Connection::some_written(std::size_t bytes) {
    const auto now = Clock::now();
    if (!progress_.is_waiting()) {
        progress_.begin(now);
        written_ = 0;
    }
    written_ += bytes;
    progress_.sent(written_, now);
    if (sent_ > buffer_bytes_kept) output_.erase(0, std::exchange(sent_, 0));
}

void Connection::all_written() {
    sent_ = 0;
    progress_.end();
    output_.clear();
    if (output_.capacity() > buffer_bytes_kept) output_.shrink_to_fit();
    if (finishing_) linger();
}

void Connection::look_for(net::Poller::Interest interest) {
    if (interest.input == interest_.input && interest.output == interest_.output) return;
    interest_ = interest;
    turns_.poller().change(transport_.fd(), this, transport_.wants(interest));
}

// ---- the end ----

void Connection::finish() {
    if (is_closed() || finishing_) return;
    finishing_ = true;
    flush();
}

void Connection::linger() {
    if (lingering_) return;
    lingering_ = true;
    if (ended_ || !may_linger() || !transport_.end_sending()) return close();
    linger_deadline_ = Clock::now() + linger_for;
    begin_ = end_;
}

void Connection::close() {
    if (is_closed()) return;
    const auto self = shared_from_this();  // on_close() may let go of the last other owner
    if (is_linked()) unlink();
    turns_.poller().remove(transport_.fd());
    transport_.close();
    on_close();
}

void Connection::check(Clock::time_point now) {
    if (is_closed()) return;
    if (progress_.is_late(now, write_timeout_)) return close();
    if (lingering_ && now >= linger_deadline_) return close();
    if (!finishing_) on_check(now);
}

}  // namespace holdfast::doors::http
