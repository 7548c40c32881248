#include "net/connection.h"

#include <cstring>

#include "net/door.h"

namespace holdfast::net {
namespace {

constexpr std::size_t max_received_bytes = 64 * 1024;  // in one turn
constexpr std::size_t max_sent_bytes_kept = 64 * 1024;
constexpr auto linger_for = 2s;

}  // namespace

Connection::Connection(Admitted admitted, Limits limits)
    : door_(admitted.door),
      turns_(door_.turns()),
      transport_(std::move(admitted.transport)),
      peer_(std::move(admitted.peer)),
      id_(admitted.id),
      limits_(limits),
      input_(door_.buffers()) {}

// ---- input ----

bool Connection::takes_input() const {
    return !ended_ && (finishing_ || (!is_input_full() && wants_input()));
}

void Connection::receive(bool hung_up) {
    if (is_closed()) return;
    if (!takes_input()) {
        if (hung_up && !broken_) broken_ = "the connection is broken";
        return;
    }
    if (finishing_) input_.clear();
    const auto room = input_.room(limits_.max_input_bytes);
    const auto got = transport_.read_some(room.first(std::min(room.size(), max_received_bytes)));
    input_.received(got.bytes);
    ended_ |= got.ended;
    if (got.error != 0) broken_ = std::strerror(got.error);
}

void Connection::handle() {
    if (is_closed()) return;
    if (lingering_ && ended_) return close();
    bool has_more = false;
    if (!finishing_ && !broken_) {
        if (output_.capacity() < Buffers::bytes && output_.empty()) output_ = door_.buffers().take_output();
        has_more = run();
    }
    send();
    if (is_closed()) return;
    input_.settle();
    if (has_more && unsent() == 0) wake();
    poll();
}

// ---- output ----

void Connection::send() {
    if (is_closed()) return;
    if (broken_) return close(*broken_);
    const auto sent = transport_.write_some(std::string_view(output_).substr(sent_));
    if (sent.error != 0) return close(std::strerror(sent.error));
    sent_ += sent.bytes;
    if (unsent() == 0)
        all_sent();
    else
        some_sent(sent.bytes);
}

void Connection::all_sent() {
    sent_ = 0;
    progress_.end();
    output_.clear();
    door_.buffers().give_back_output(output_);
    if (finishing_ && !lingering_) linger();
}

/// The rest has to wait until the peer reads.
void Connection::some_sent(std::size_t bytes) {
    if (!progress_.is_waiting()) progress_.begin(now());
    progress_.sent(bytes, now());
    if (sent_ > max_sent_bytes_kept && sent_ > unsent()) output_.erase(0, std::exchange(sent_, 0));
}

/// Tells the poller what to wait for, unless the connection runs again in any case.
void Connection::poll() {
    if (is_linked()) return;
    const Poller::Interest interest = transport_.wants({takes_input(), unsent() > 0});
    if (interest == interest_) return;
    interest_ = interest;
    turns_.poller().change(transport_.fd(), this, interest);
}

// ---- the end ----

void Connection::finish() {
    if (is_closed() || std::exchange(finishing_, true)) return;
    wake();
}

void Connection::linger() {
    if (ended_ || !door_.may_linger() || !transport_.end_sending()) return close();
    lingering_ = true;
    linger_until_ = now() + linger_for;
    input_.clear();
}

void Connection::give_up(std::string why) {
    if (is_closed() || broken_) return;
    broken_ = std::move(why);
    wake();
}

void Connection::close(const std::string& why) {
    if (is_closed()) return;
    const auto self = shared_from_this();  // on_close() may let go of the last other owner
    leave_turns();
    transport_.close();
    on_close(why);
    door_.remove(*this);
}

int Connection::release() {
    leave_turns();
    const int socket = transport_.release();
    door_.remove(*this);
    return socket;
}

void Connection::leave_turns() {
    if (is_linked()) unlink();
    turns_.poller().remove(transport_.fd());
    input_.clear();
}

void Connection::check(Clock::time_point time) {
    if (is_closed()) return;
    if (progress_.is_late(time, limits_.write_timeout)) return give_up("the other end does not read");
    if (lingering_ && time >= linger_until_) return give_up("the other end does not close");
    if (!finishing_) on_check(time);
}

// ---- the peer ----

void Connection::watch_peer(Watch watch) {
    if (!is_closed()) net::watch_peer(transport_.fd(), watch);
}

bool Connection::peer_is_there() const {
    return !ended_ && !is_closed() && net::peer_is_there(transport_.fd());
}

}  // namespace holdfast::net
