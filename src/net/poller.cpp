#include "net/poller.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"

namespace holdfast::net {
namespace {

constexpr int max_ready = 256;

epoll_event event_for(void* who, Poller::Interest interest) {
    epoll_event event{};
    event.events = (interest.input ? EPOLLIN : 0U) | (interest.output ? EPOLLOUT : 0U);
    event.data.ptr = who;
    return event;
}

int new_epoll() {
    const int made = ::epoll_create1(EPOLL_CLOEXEC);
    HOLDFAST_ASSERT(made >= 0);
    return made;
}

}  // namespace

struct Poller::Impl : std::enable_shared_from_this<Impl> {
    explicit Impl(boost::asio::io_context& loop) : descriptor(loop, new_epoll()) {}

    int epoll() { return descriptor.native_handle(); }

    void wait() {
        descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                              [self = shared_from_this()](boost::system::error_code error) {
                                  if (error || self->stopped) return;
                                  self->on_ready();
                                  if (!self->stopped) self->wait();
                              });
    }

    boost::asio::posix::stream_descriptor descriptor;
    std::function<void()> on_ready;
    bool stopped = false;
    std::array<epoll_event, max_ready> events;
    std::array<Ready, max_ready> found;
};

Poller::Poller(boost::asio::io_context& loop) : impl_(std::make_shared<Impl>(loop)) {}

Poller::~Poller() {
    stop();
}

bool Poller::add(int socket, void* who) {
    epoll_event event = event_for(who, {});
    return ::epoll_ctl(impl_->epoll(), EPOLL_CTL_ADD, socket, &event) == 0;
}

void Poller::change(int socket, void* who, Interest interest) {
    epoll_event event = event_for(who, interest);
    ::epoll_ctl(impl_->epoll(), EPOLL_CTL_MOD, socket, &event);
}

void Poller::remove(int socket) {
    if (!impl_->stopped) ::epoll_ctl(impl_->epoll(), EPOLL_CTL_DEL, socket, nullptr);
}

void Poller::start(std::function<void()> on_ready) {
    impl_->on_ready = std::move(on_ready);
    impl_->wait();
}

void Poller::stop() {
    if (impl_->stopped) return;
    impl_->stopped = true;
    boost::system::error_code ignored;
    impl_->descriptor.close(ignored);
}

std::span<const Poller::Ready> Poller::ready() {
    const int count = ::epoll_wait(impl_->epoll(), impl_->events.data(), max_ready, 0);
    if (count <= 0) return {};
    const auto found = static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < found; ++i) {
        const epoll_event& event = impl_->events[i];
        const bool broken = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
        impl_->found[i] = {event.data.ptr, broken || (event.events & EPOLLIN) != 0, (event.events & EPOLLOUT) != 0,
                           broken};
    }
    return {impl_->found.data(), found};
}

}  // namespace holdfast::net
