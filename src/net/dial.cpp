#include "net/dial.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/assert.h"

namespace holdfast::net {

using boost::asio::ip::tcp;
using boost::system::error_code;

class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
    Attempt(boost::asio::io_context& loop, Destination to, OnConnected done)
        : to_(std::move(to)), resolver_(loop), socket_(loop), timer_(loop), done_(std::move(done)) {}

    void start(Duration within) {
        if (within > Duration::zero()) {
            timer_.expires_after(within);
            timer_.async_wait([self = shared_from_this()](error_code cancelled) {
                if (!cancelled) self->fail("connecting took too long");
            });
        }
        error_code not_numeric;
        const auto numeric = boost::asio::ip::make_address(to_.host, not_numeric);
        if (!not_numeric) return connect({tcp::endpoint(numeric, to_.port)});
        resolver_.async_resolve(
            to_.host, std::to_string(to_.port),
            [self = shared_from_this()](error_code error, const tcp::resolver::results_type& found) {
                if (error) return self->fail(error.message());
                self->connect({found.begin(), found.end()});
            });
    }

    void cancel() {
        done_ = nullptr;
        end();
    }

 private:
    void connect(std::vector<tcp::endpoint> endpoints) {
        if (!done_) return;
        endpoints_ = std::move(endpoints);
        boost::asio::async_connect(socket_, endpoints_,
                                   [self = shared_from_this()](error_code error, const tcp::endpoint&) {
                                       if (error) return self->fail(error.message());
                                       self->succeed();
                                   });
    }

    void succeed() {
        if (!done_) return;
        const OnConnected done = std::exchange(done_, nullptr);
        tcp::socket socket = std::move(socket_);
        end();
        done(std::move(socket));
    }

    void fail(std::string why) {
        if (!done_) return;
        const OnConnected done = std::exchange(done_, nullptr);
        end();
        done(Error{Code::unreachable, std::move(why)});
    }

    void end() {
        error_code ignored;
        timer_.cancel();
        resolver_.cancel();
        socket_.close(ignored);
    }

    const Destination to_;
    tcp::resolver resolver_;
    tcp::socket socket_;
    boost::asio::steady_timer timer_;
    std::vector<tcp::endpoint> endpoints_;
    OnConnected done_;
};

std::weak_ptr<Attempt> dial(boost::asio::io_context& loop, Destination to, Duration within, OnConnected done) {
    const auto attempt = std::make_shared<Attempt>(loop, std::move(to), std::move(done));
    attempt->start(within);
    return attempt;
}

void cancel(const std::weak_ptr<Attempt>& attempt) {
    if (const auto under_way = attempt.lock()) under_way->cancel();
}

// ---- again and again ----

struct Dialer::Impl : std::enable_shared_from_this<Impl> {
    explicit Impl(Parts given) : parts(std::move(given)), random(parts.seed), backoff(parts.pauses), pause(parts.loop) {
        HOLDFAST_ASSERT(!parts.to.empty());
    }

    void dial() {
        if (stopped) return;
        pause.cancel();
        cancel(attempt);
        attempt = net::dial(parts.loop, parts.to[at], parts.attempt_within,
                            [self = shared_from_this()](Result<tcp::socket> socket) {
                                if (!socket) return self->failed(socket.error().message);
                                self->parts.on_socket(std::move(*socket));
                            });
    }

    void failed(const std::string& why) {
        at = (at + 1) % parts.to.size();
        parts.on_failure(why);
        if (at != 0) return dial();
        dial_later();
    }

    void dial_later() {
        if (stopped) return;
        cancel(attempt);
        pause.expires_after(backoff.next(random));
        pause.async_wait([self = shared_from_this()](error_code cancelled) {
            if (!cancelled) self->dial();
        });
    }

    void stop() {
        stopped = true;
        cancel(attempt);
        pause.cancel();
    }

    const Parts parts;
    Random random;
    Backoff backoff;
    boost::asio::steady_timer pause;
    std::weak_ptr<Attempt> attempt;
    std::size_t at = 0;
    bool stopped = false;
};

Dialer::Dialer(Parts parts) : impl_(std::make_shared<Impl>(std::move(parts))) {}

Dialer::~Dialer() {
    stop();
}

void Dialer::dial() {
    impl_->dial();
}

void Dialer::dial_later() {
    impl_->dial_later();
}

void Dialer::succeeded() {
    impl_->backoff.reset();
}

void Dialer::stop() {
    impl_->stop();
}

}  // namespace holdfast::net
