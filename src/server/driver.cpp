#include "server/driver.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "authority/authority.h"
#include "base/clock.h"
#include "server/boot_timer.h"
#include "store/store.h"

namespace holdfast::server {
namespace {

// The sweep's budget per turn of the loop, in steps of about a microsecond each. It is small within a request, because
// the requester should not pay for the sweep.
constexpr std::size_t steps_per_turn = 500;
constexpr std::size_t steps_per_request = 8;

}  // namespace

struct Driver::Impl : std::enable_shared_from_this<Impl> {
    explicit Impl(Parts given) : parts(std::move(given)), timer(parts.loop, [this] { turn(); }) {}

    void advance(std::size_t steps) {
        now = store_clock_now();
        more = parts.store.advance(now, steps);
        parts.authority.advance(now);
        for (const Driven& other : parts.others)
            other.advance(now);
    }

    /// One turn of the sweep. If more is left, the next turn runs after the other handlers that the loop has pending.
    void turn() {
        armed = Instant::max();
        advance(steps_per_turn);
        rearm();
    }

    void rearm() {
        if (stopped || turn_posted) return;
        if (more) {
            turn_posted = true;
            asio_post([](Impl& self) {
                self.turn_posted = false;
                self.turn();
            });
            return;
        }
        Instant due = std::min(parts.store.next_due(), parts.authority.next_deadline());
        for (const Driven& other : parts.others)
            due = std::min(due, other.next_due());
        if (due >= armed) return;  // the timer fires early enough; waking with nothing due is harmless
        armed = due;
        timer.set(due);
    }

    /// Deferred, because the handler of the request has yet to make its changes.
    void rearm_soon() {
        if (stopped || rearm_posted) return;
        rearm_posted = true;
        asio_post([](Impl& self) {
            self.rearm_posted = false;
            self.rearm();
        });
    }

    template <class Function>
    void asio_post(Function function) {
        boost::asio::post(parts.loop, [self = shared_from_this(), function] {
            if (!self->stopped) function(*self);
        });
    }

    Parts parts;
    BootTimer timer;
    Instant now;
    Instant armed = Instant::max();
    bool more = false;
    bool turn_posted = false;
    bool rearm_posted = false;
    bool stopped = false;
};

Driver::Driver(Parts parts) : impl_(std::make_shared<Impl>(std::move(parts))) {
    impl_->rearm_soon();
}

Driver::~Driver() {
    stop();
}

void Driver::tick() {
    impl_->advance(steps_per_request);
    impl_->rearm_soon();
}

void Driver::turn_begins() {
    impl_->advance(steps_per_request);
}

void Driver::turn_ends() {
    impl_->rearm();
}

void Driver::event_turn_ends() {
    impl_->parts.authority.advance(impl_->now);
    turn_ends();
}

void Driver::stop() {
    impl_->stopped = true;
    impl_->timer.stop();
}

}  // namespace holdfast::server
