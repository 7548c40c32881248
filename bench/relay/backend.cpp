#include "backend.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sockets.h"

namespace holdfast::bench {
namespace {

struct Peer {
    int socket = -1;
    std::size_t to_skip = 0;  ///< of what comes before the byte: StreamOpened
    bool sends = false;
};

class Backend {
 public:
    explicit Backend(int relay_port) : epoll_(::epoll_create1(0)), relay_port_(relay_port), noise_(256 * 1024, 'x') {
        discovery::append_frame(discovery::StreamOpened{}, opened_);
        listener_ = listen_on_loopback(port_);
        watch(listener_, EPOLLIN, &listener_);
        if (relay_port != 0) publish();
        std::printf("%d\n", port_);
        std::fflush(stdout);
    }

    [[noreturn]] void run() {
        epoll_event events[256];
        auto renew_at = Clock::now() + 5s;
        while (true) {
            const int count = ::epoll_wait(epoll_, events, 256, 1000);
            for (int i = 0; i < count; ++i)
                handle(events[i]);
            if (control_ && Clock::now() >= renew_at) {
                control_->send(signer_.sign({.action = discovery::Action::renew, .name = "direct", .token = token_}));
                renew_at += 5s;
            }
        }
    }

 private:
    void watch(int socket, std::uint32_t what, void* who) {
        epoll_event event{.events = what, .data = {.ptr = who}};
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
    }

    void publish() {
        control_ = std::make_unique<ControlEnd>(connect_to(relay_port_, true));
        control_->send(discovery::PublisherHello{});
        signer_.greeted(std::get<discovery::RelayHello>(control_->wait_for_message()));
        control_->send(signer_.sign({.name = "direct"}));
        token_ = std::get<discovery::UpdateResponse>(control_->wait_for_message()).token;
        if (token_ == 0) give_up("the relay did not take the service");
        watch(control_->socket(), EPOLLIN, control_.get());
    }

    void handle(const epoll_event& event) {
        if (event.data.ptr == &listener_) return accept_all();
        if (event.data.ptr == control_.get()) return answer_offers();
        go_on(static_cast<Peer*>(event.data.ptr));
    }

    void accept_all() {
        for (int got = 0; (got = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;)
            watch(got, EPOLLIN, new Peer{got});
    }

    void answer_offers() {
        while (const auto message = control_->receive()) {
            const auto* offer = std::get_if<discovery::StreamOffer>(&*message);
            if (offer == nullptr) continue;
            const int data = connect_to(relay_port_, false);
            std::string bytes;
            discovery::append_frame(discovery::StreamAccept{.ticket = offer->ticket}, bytes);
            if (::send(data, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) give_up("the relay takes no ticket");
            watch(data, EPOLLIN, new Peer{data, opened_.size()});
        }
    }

    void go_on(Peer* peer) {
        if (!peer->sends && !read_wish(*peer)) return;
        if (peer->sends && send_more(*peer)) return;
        ::close(peer->socket);
        delete peer;
    }

    /// True if there is more to be done than to wait.
    bool read_wish(Peer& peer) {
        char room[64];
        const ssize_t got = ::recv(peer.socket, room, peer.to_skip > 0 ? std::min(peer.to_skip, sizeof room) : 1, 0);
        if (got <= 0) return got == 0 || errno != EAGAIN;
        if (peer.to_skip > 0) {
            peer.to_skip -= static_cast<std::size_t>(got);
            return peer.to_skip == 0 && read_wish(peer);
        }
        if (room[0] == 'e') return ::send(peer.socket, room, 1, MSG_NOSIGNAL) == 1 || true;
        peer.sends = true;
        epoll_event event{.events = EPOLLOUT, .data = {.ptr = &peer}};
        ::epoll_ctl(epoll_, EPOLL_CTL_MOD, peer.socket, &event);
        return true;
    }

    /// False when the other side has had enough.
    bool send_more(Peer& peer) {
        const ssize_t sent = ::send(peer.socket, noise_.data(), noise_.size(), MSG_NOSIGNAL);
        return sent > 0 || (sent < 0 && errno == EAGAIN);
    }

    int epoll_;
    int relay_port_;
    std::string noise_, opened_;
    int port_ = 0;
    int listener_ = -1;
    std::unique_ptr<ControlEnd> control_;
    Signer signer_;
    std::uint64_t token_ = 0;
};

}  // namespace

int run_backend(int relay_port) {
    raise_open_files();
    Backend(relay_port).run();
}

}  // namespace holdfast::bench
