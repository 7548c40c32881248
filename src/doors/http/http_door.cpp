#include "doors/http/http_door.h"

#include <algorithm>

#include "doors/http/session.h"
#include "net/door.h"

namespace holdfast::doors::http {
namespace {

constexpr std::size_t max_over_limit = 64;  // connections over the limit at one time

net::Door::Options door_options(const HttpDoorOptions& options) {
    return {.max_connections = options.max_connections,
            .max_refused = max_over_limit,
            .oldest_refused_goes = true,  // a monitoring client sends its request at once
            .files_left = net::files_left_by_http,
            .max_buffer_bytes = options.max_buffer_bytes,
            .check_every =
                net::check_period(std::min({options.idle_timeout, options.read_timeout, options.write_timeout}))};
}

}  // namespace

struct HttpDoor::Impl final : net::Door::Owner {
    Impl(boost::asio::io_context& loop, const HttpDoorServices& behind, prometheus::Registry& metrics,
         HttpDoorOptions options, net::DoorTurn turn)
        : shared(std::make_shared<Shared>(loop, behind, metrics, std::move(options))),
          door(loop, *this, door_options(shared->options), std::move(turn)) {
        shared->door = &door;
        behind.authority.on_expiry_lateness([shared = shared](Duration late) {
            if (shared->door != nullptr) shared->metrics.observe_expiry_lateness(late);
        });
    }

    std::shared_ptr<net::Connection> make_connection(net::Admitted admitted) override {
        return std::make_shared<Session>(std::move(admitted), shared);
    }
    void on_count(std::size_t connections) override { shared->metrics.set_connections(connections); }
    void on_check(Duration late) override { shared->metrics.observe_loop_delay(late); }

    std::shared_ptr<Shared> shared;
    net::Door door;
};

HttpDoor::HttpDoor(boost::asio::io_context& loop, const HttpDoorServices& behind, prometheus::Registry& metrics,
                   HttpDoorOptions options, net::DoorTurn turn)
    : impl_(std::make_unique<Impl>(loop, behind, metrics, std::move(options), std::move(turn))) {}

HttpDoor::~HttpDoor() {
    impl_->shared->door = nullptr;
    impl_->door.shut();
    impl_->shared->hub.shut();
}

Result<std::string> HttpDoor::listen() {
    Shared& shared = *impl_->shared;
    const auto bound = impl_->door.listen(shared.options.address);
    if (!bound) return bound.error();
    shared.services.spawns = shared.options.allow_spawn || bound->address().is_loopback();
    return net::text_of(*bound);
}

void HttpDoor::stop(std::function<void()> done) {
    impl_->door.stop(std::move(done));
}

}  // namespace holdfast::doors::http
