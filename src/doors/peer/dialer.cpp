#include "doors/peer/dialer.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <vector>

#include "doors/peer/members.h"

namespace holdfast::doors::peer {

using boost::asio::ip::tcp;

Dialer::Dialer(Parts parts)
    : parts_(std::move(parts)),
      random_(parts_.seed),
      resolver_(parts_.loop),
      socket_(parts_.loop),
      timer_(parts_.loop) {}

void Dialer::dial() {
    if (stopped_) return;
    timer_.expires_after(parts_.attempt_within);
    timer_.async_wait([self = shared_from_this(), attempt = ++attempt_](boost::system::error_code cancelled) {
        if (!cancelled && attempt == self->attempt_) self->failed("connecting took too long");
    });
    resolve();
}

void Dialer::resolve() {
    const auto split = split_address(parts_.address);
    if (!split) return failed(split.error().message);
    boost::system::error_code not_numeric;
    const auto numeric = boost::asio::ip::make_address(split->host, not_numeric);
    if (!not_numeric) return connect({tcp::endpoint(numeric, static_cast<std::uint16_t>(std::stoul(split->port)))});
    resolver_.async_resolve(split->host, split->port,
                            [self = shared_from_this(), attempt = attempt_](boost::system::error_code error,
                                                                            const tcp::resolver::results_type& found) {
                                if (self->stopped_ || attempt != self->attempt_) return;
                                if (error) return self->failed(error.message());
                                self->connect({found.begin(), found.end()});
                            });
}

void Dialer::connect(std::vector<tcp::endpoint> endpoints) {
    auto kept = std::make_shared<std::vector<tcp::endpoint>>(std::move(endpoints));
    socket_ = tcp::socket(parts_.loop);
    boost::asio::async_connect(
        socket_, *kept,
        [self = shared_from_this(), kept, attempt = attempt_](boost::system::error_code error, const tcp::endpoint&) {
            if (self->stopped_ || attempt != self->attempt_) return;
            if (error) return self->failed(error.message());
            ++self->attempt_;
            self->timer_.cancel();
            self->parts_.on_socket(std::move(self->socket_));
        });
}

void Dialer::failed(const std::string& why) {
    ++attempt_;
    boost::system::error_code ignored;
    socket_.close(ignored);
    resolver_.cancel();
    parts_.on_failure(why);
    dial_later();
}

void Dialer::dial_later() {
    if (stopped_) return;
    timer_.expires_after(next_pause());
    timer_.async_wait([self = shared_from_this(), attempt = ++attempt_](boost::system::error_code cancelled) {
        if (!cancelled && attempt == self->attempt_) self->dial();
    });
}

Duration Dialer::next_pause() {
    const Duration doubled{parts_.pause_least.count() << std::min(failures_, 20U)};
    const Duration whole = std::min(doubled, parts_.max_pause);
    ++failures_;
    return whole / 2 + Duration(static_cast<std::int64_t>(random_.unit() * static_cast<double>((whole / 2).count())));
}

void Dialer::stop() {
    stopped_ = true;
    ++attempt_;
    resolver_.cancel();
    timer_.cancel();
    boost::system::error_code ignored;
    socket_.close(ignored);
}

}  // namespace holdfast::doors::peer
