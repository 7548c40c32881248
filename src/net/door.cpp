#include "net/door.h"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace holdfast::net {

using boost::asio::ip::tcp;

Duration check_period(Duration shortest_timeout, Duration most) {
    return std::clamp<Duration>(shortest_timeout / 10, 10ms, most);
}

Door::Door(boost::asio::io_context& loop, Owner& owner, Options options, DoorTurn turn)
    : loop_(loop),
      owner_(owner),
      options_(options),
      turns_(loop, std::move(turn), [this] { return owner_.after_turn(); }),
      listener_(loop, [this](tcp::socket socket) { admit(std::move(socket)); }),
      check_timer_(loop),
      stop_timer_(loop) {}

Door::~Door() {
    shut();
}

Result<tcp::endpoint> Door::listen(const std::string& address) {
    auto bound = listener_.listen(address);
    if (!bound) return bound;
    turns_.start();
    check_later();
    return bound;
}

// ---- connections ----

void Door::admit(tcp::socket socket) {
    boost::system::error_code error;
    const tcp::endpoint peer = plain_endpoint(socket.remote_endpoint(error));
    if (error) return;
    const bool few_files = leaves_fewer_files(socket.native_handle(), options_.files_left);
    const bool scarce = leaves_fewer_files(socket.native_handle(), options_.files_left / 2);
    const bool full = few_files || connections() >= options_.max_connections;
    if (full && !make_room_to_refuse(few_files, scarce)) return;
    const auto connection = take_in(std::move(socket), text_of(peer),
                                    [this](Admitted admitted) { return owner_.make_connection(std::move(admitted)); });
    if (!connection) return;
    if (full) {
        refused_.emplace(connection->id(), connection.get());
        connection->refuse();
    } else {
        connection->begin();
    }
    owner_.on_count(connections());
}

/// Closes as many of the oldest as needed: the fd that one frees goes to the next connection, so closing one for each
/// new one would use up the fds.
bool Door::make_room_to_refuse(bool few_files, bool scarce) {
    std::size_t most = few_files ? std::min(options_.max_refused, options_.files_left / 2) : options_.max_refused;
    if (scarce) most = options_.oldest_refused_goes ? 1 : 0;
    while (options_.oldest_refused_goes && !refused_.empty() && refused_.size() >= most)
        refused_.begin()->second->close();
    return refused_.size() < most;
}

bool Door::adopt(tcp::socket socket, std::string peer, const Make& make) {
    const auto connection = take_in(std::move(socket), std::move(peer), make);
    if (!connection) return false;
    connection->begin();
    owner_.on_count(connections());
    return true;
}

std::shared_ptr<Connection> Door::take_in(tcp::socket socket, std::string peer, const Make& make) {
    const int bare = take_out(socket);
    if (bare < 0) return nullptr;
    auto connection = make({*this, Transport(bare), std::move(peer), ++admitted_});
    if (!turns_.poller().add(bare, connection.get())) {
        connection->close();
        return nullptr;
    }
    connections_.emplace(connection->id(), connection);
    return connection;
}

Connection* Door::find(std::uint64_t id) const {
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : found->second.get();
}

void Door::remove(Connection& connection) {
    const auto found = connections_.find(connection.id());
    if (found == connections_.end()) return;
    turns_.keep(std::move(found->second));
    connections_.erase(found);
    refused_.erase(connection.id());
    if (shut_) return;
    owner_.on_count(connections());
    stop_if_idle();
}

void Door::close_all() {
    while (!connections_.empty())
        connections_.begin()->second->close();
}

// ---- time ----

/// One timer for the deadlines and the buffers of all connections.
void Door::check_later() {
    check_timer_.expires_after(options_.check_every);
    check_timer_.async_wait(alive_.guard([this](boost::system::error_code cancelled) {
        if (cancelled || shut_) return;
        check(Turns::Clock::now() - check_timer_.expiry());
        check_later();
    }));
}

void Door::check(Duration late) {
    turns_.between([&] {
        close_largest();
        for (const auto& [id, connection] : connections_)
            connection->check(turns_.now());
        owner_.on_check(late);
    });
}

/// Each connection has its own limits, but ten thousand together could still buffer gigabytes. Closes the largest, and
/// no more than needed.
void Door::close_largest() {
    std::size_t held = 0;
    for (const auto& [id, connection] : connections_)
        held += connection->held_bytes();
    if (held <= options_.max_buffer_bytes) return;
    std::vector<std::pair<std::size_t, Connection*>> all;
    all.reserve(connections_.size());
    for (const auto& [id, connection] : connections_)
        all.emplace_back(connection->held_bytes(), connection.get());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [bytes, connection] : all) {
        if (held <= options_.max_buffer_bytes) break;
        held -= bytes;
        connection->give_up("all connections together buffer too much, and this one most");
    }
}

// ---- the end ----

void Door::stop(std::function<void()> done) {
    listener_.close();
    on_stopped_ = std::move(done);
    stopping_ = true;
    std::vector<std::shared_ptr<Connection>> all;  // a copy, since a connection may close at once
    for (const auto& [id, connection] : connections_)
        all.push_back(connection);
    for (const auto& connection : all)
        connection->stop();
    stop_timer_.expires_after(options_.stop_grace);
    stop_timer_.async_wait(alive_.guard([this](boost::system::error_code cancelled) {
        if (cancelled || shut_) return;
        turns_.between([this] { close_all(); });
        stopped();
    }));
    stop_if_idle();
}

void Door::stop_if_idle() {
    if (stopping_ && connections_.empty() && owner_.is_idle()) stopped();
}

void Door::stopped() {
    stop_timer_.cancel();
    check_timer_.cancel();
    // Posted, because the last connection is still closing and done() may destroy the door.
    boost::asio::post(loop_, alive_.guard([this] {
        if (const auto done = std::exchange(on_stopped_, nullptr)) done();
    }));
}

void Door::shut() {
    if (std::exchange(shut_, true)) return;
    on_stopped_ = nullptr;
    listener_.close();
    check_timer_.cancel();
    stop_timer_.cancel();
    close_all();
    turns_.stop();
}

}  // namespace holdfast::net
