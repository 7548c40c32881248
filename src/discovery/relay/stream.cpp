#include "discovery/relay/stream.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::discovery::relay {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

Stream::Stream(JoinedSockets joined) : id_(joined.id), shares_{std::move(joined.service), std::move(joined.identity)} {
    sides_[0].socket = joined.consumer;
    sides_[0].pending = std::move(joined.for_consumer);
    sides_[1].socket = joined.publisher;
    sides_[1].pending = std::move(joined.for_publisher);
}

Stream::~Stream() {
    for (const Side& side : sides_)
        ::close(side.socket);
}

void Stream::note(Which which, Event event) {
    Side& side = sides_[static_cast<std::size_t>(which)];
    side.readable |= event.readable || event.hung_up;
    side.writable |= event.writable || event.hung_up;
    side.hung_up |= event.hung_up;
    failed_ |= event.failed;
}

Stream::Outcome Stream::move(std::span<char> buffer, std::size_t max_bytes) {
    if (failed_) return Outcome::broken;  // even while the other side accepts nothing
    const Outcome there = copy(sides_[0], sides_[1], buffer, max_bytes);
    if (there == Outcome::broken) return there;
    const Outcome back = copy(sides_[1], sides_[0], buffer, max_bytes);
    if (back == Outcome::broken) return back;
    if (sides_[0].shut && sides_[1].shut) return Outcome::ended;
    return std::max(there, back);
}

Stream::Outcome Stream::copy(Side& from, Side& to, std::span<char> buffer, std::size_t max_bytes) {
    if (!flush(to)) return Outcome::broken;
    while (to.pending.empty() && from.readable && !from.ended) {
        if (max_bytes == 0) return Outcome::more;
        const std::size_t wanted = std::min<std::uint64_t>(std::min(buffer.size(), max_bytes), allowance());
        if (wanted == 0) return Outcome::paused;
        const ssize_t got = ::recv(from.socket, buffer.data(), wanted, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno != EAGAIN) return Outcome::broken;
        if (got <= 0) {
            from.ended = got == 0;
            from.readable = false;
            break;
        }
        const auto bytes = static_cast<std::size_t>(got);
        max_bytes -= bytes;
        from.readable = from.hung_up || bytes == wanted;
        count(to, bytes);
        if (!pass_on(to, buffer.first(bytes))) return Outcome::broken;
    }
    if (from.ended && to.pending.empty() && !to.shut) {
        ::shutdown(to.socket, SHUT_WR);
        to.shut = true;
    }
    return Outcome::waits;
}

/// Returns false if the side is broken.
bool Stream::flush(Side& to) {
    while (to.writable && !to.pending.empty()) {
        const ssize_t took = ::send(to.socket, to.pending.data() + to.sent, to.pending.size() - to.sent, MSG_NOSIGNAL);
        if (took < 0 && errno == EINTR) continue;
        if (took < 0 && errno != EAGAIN) return false;
        if (took < 0) {
            to.writable = false;
            break;
        }
        to.sent += static_cast<std::size_t>(took);
        if (to.sent < to.pending.size()) continue;
        to.sent = 0;
        std::string().swap(to.pending);  // free the buffer: most streams never block and need none
    }
    return true;
}

bool Stream::pass_on(Side& to, std::span<const char> bytes) {
    ssize_t took = -1;
    do {
        took = ::send(to.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    } while (took < 0 && errno == EINTR);
    if (took < 0 && errno != EAGAIN) return false;
    const std::size_t sent = took < 0 ? 0 : static_cast<std::size_t>(took);
    if (sent == bytes.size()) return true;
    to.writable = false;
    to.pending.assign(bytes.data() + sent, bytes.size() - sent);
    return true;
}

std::uint64_t Stream::allowance() {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        const TokenBucket& bucket = shares_[i]->bucket;
        if (!bucket.is_limited() || bucket.level() >= least) continue;
        least = bucket.level();
        thirsty_ = i;
    }
    return least;
}

void Stream::count(const Side& to, std::size_t bytes) {
    for (const auto& share : shares_) {
        (&to == &sides_[0] ? share->to_consumer : share->to_publisher).fetch_add(bytes, relaxed);
        share->bucket.take(bytes);
    }
}

void Stream::reset_both() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    for (const Side& side : sides_)
        ::setsockopt(side.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace holdfast::discovery::relay
