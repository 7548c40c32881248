#include "net/turns.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "net/connection.h"

namespace holdfast::net {

Turns::Turns(boost::asio::io_context& loop, DoorTurn turn, std::function<bool()> after_each)
    : loop_(loop), turn_(std::move(turn)), after_each_(std::move(after_each)), poller_(loop) {}

void Turns::start() {
    poller_.start([this] {
        if (!posted_) take();  // the next turn serves those that are ready, too
    });
}

void Turns::stop() {
    stopped_ = true;
    poller_.stop();
    kept_.clear();
}

void Turns::post() {
    posted_ = true;
    boost::asio::post(loop_, alive_.guard([this] {
        posted_ = false;
        take();
    }));
}

void Turns::take() {
    if (stopped_) return;
    in_turn_ = true;
    now_ = Clock::now();
    const auto ready = poller_.ready();
    for (const Poller::Ready& one : ready)
        if (one.input) static_cast<Connection*>(one.who)->receive(one.broken);
    turn_.begins();
    for (const Poller::Ready& one : ready)
        queue_.add(*static_cast<Connection*>(one.who));
    run();
    const bool more = after_each_();
    turn_.ends();
    in_turn_ = false;
    kept_.clear();
    if (more || !queue_.is_empty()) soon();
}

void Turns::run() {
    queue_.begin_turn();
    while (Connection* connection = queue_.next()) {
        connection->handle();
        queue_.done(*connection);
    }
}

}  // namespace holdfast::net
