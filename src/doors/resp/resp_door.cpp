#include "doors/resp/resp_door.h"

#include <fmt/format.h>

#include "doors/resp/session.h"
#include "net/door.h"

namespace holdfast::doors::resp {
namespace {

constexpr std::size_t max_refused = 64;  // connections over the limit that get an error; more are just closed
constexpr auto warn_every = 1min;

net::Door::Options door_options(const RespDoorOptions& options) {
    Duration shortest = std::min(options.write_timeout, options.read_timeout);
    if (options.idle_timeout > Duration::zero()) shortest = std::min(shortest, options.idle_timeout);
    return {.max_connections = options.max_connections,
            .max_refused = max_refused,
            .files_left = net::files_left_by_others,
            .max_buffer_bytes = options.max_buffer_bytes,
            .check_every = net::check_period(shortest)};
}

}  // namespace

void RespDoorParts::note_same_value() {
    ++same_value_sets;
    if (!options.warn || door == nullptr || door->turns().now() < warn_again_at) return;
    warn_again_at = door->turns().now() + warn_every;
    options.warn(fmt::format(
        "a lock of a Redis client was refused because its key already holds the same value. If that is Redlock over "
        "several nodes of one cluster or fronts of one engine, it can never get a majority: all of them have the same "
        "key. Give it one address (docs/redis.md, Redlock). If it is several clients that use one value, none of them "
        "can tell its lock from another's: let each use a random value. {} refusals so far; this warning comes at most "
        "once per minute",
        same_value_sets));
}

struct RespDoor::Impl final : net::Door::Owner {
    Impl(boost::asio::io_context& loop, authority::Authority& authority, RespDoorOptions options, net::DoorTurn turn)
        : parts(std::make_shared<RespDoorParts>(authority, std::move(options))),
          door(loop, *this, door_options(parts->options), std::move(turn)) {
        parts->door = &door;
    }

    std::shared_ptr<net::Connection> make_connection(net::Admitted admitted) override {
        return std::make_shared<RespSession>(std::move(admitted), parts);
    }

    std::shared_ptr<RespDoorParts> parts;
    net::Door door;
};

RespDoor::RespDoor(boost::asio::io_context& loop, authority::Authority& authority, RespDoorOptions options,
                   net::DoorTurn turn)
    : impl_(std::make_unique<Impl>(loop, authority, std::move(options), std::move(turn))) {}

RespDoor::~RespDoor() {
    impl_->parts->door = nullptr;
    impl_->parts->hub.shut();
    impl_->door.shut();
}

Result<std::string> RespDoor::listen() {
    const auto bound = impl_->door.listen(impl_->parts->options.address);
    if (!bound) return bound.error();
    impl_->parts->port = std::to_string(bound->port());
    return net::text_of(*bound);
}

std::uint64_t RespDoor::same_value_sets() const {
    return impl_->parts->same_value_sets;
}

void RespDoor::stop(std::function<void()> done) {
    impl_->door.stop(std::move(done));
}

}  // namespace holdfast::doors::resp
