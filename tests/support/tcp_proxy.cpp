#include "support/tcp_proxy.h"

#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <deque>
#include <future>
#include <set>
#include <string>
#include <thread>

namespace holdfast {
namespace {

using boost::asio::ip::tcp;

constexpr std::size_t chunk_bytes = 64 * 1024;

struct Counts {
    std::atomic<std::uint64_t> answered_bytes{0}, turns{0};
    std::atomic<bool> server_spoke{true};
};

/// One direction of one connection: what is read from one socket is written to another, in order, after a while.
class Flow final : public std::enable_shared_from_this<Flow> {
 public:
    Flow(std::shared_ptr<tcp::socket> from, std::shared_ptr<tcp::socket> to, bool is_answer, Counts& counts)
        : from_(std::move(from)),
          to_(std::move(to)),
          timer_(from_->get_executor()),
          is_answer_(is_answer),
          counts_(counts) {}

    Duration delay{};
    bool loses = false;

    void read() {
        from_->async_read_some(boost::asio::buffer(chunk_), [self = shared_from_this()](auto error, std::size_t bytes) {
            if (error) return self->end();
            self->take(bytes);
            self->read();
        });
    }

    /// Both ends see that it is over.
    void end() {
        boost::system::error_code ignored;
        from_->close(ignored);
        to_->close(ignored);
    }

 private:
    struct Chunk {
        std::chrono::steady_clock::time_point due;
        std::string data;
    };

    void take(std::size_t bytes) {
        if (is_answer_) {
            counts_.answered_bytes += bytes;
            counts_.server_spoke = true;
        } else if (counts_.server_spoke.exchange(false)) {
            ++counts_.turns;
        }
        if (loses) return;
        waiting_.push_back({std::chrono::steady_clock::now() + delay, std::string(chunk_.data(), bytes)});
        if (!busy_) write();
    }

    void write() {
        busy_ = !waiting_.empty();
        if (!busy_) return;
        timer_.expires_at(waiting_.front().due);
        timer_.async_wait([self = shared_from_this()](auto) {
            boost::asio::async_write(*self->to_, boost::asio::buffer(self->waiting_.front().data),
                                     [self](auto error, std::size_t) {
                                         if (error) return self->end();
                                         self->waiting_.pop_front();
                                         self->write();
                                     });
        });
    }

    std::shared_ptr<tcp::socket> from_, to_;
    boost::asio::steady_timer timer_;
    const bool is_answer_;
    Counts& counts_;
    std::array<char, chunk_bytes> chunk_;
    std::deque<Chunk> waiting_;
    bool busy_ = false;
};

}  // namespace

struct TcpProxy::Impl {
    explicit Impl(std::uint16_t server_port)
        : server(boost::asio::ip::address_v4::loopback(), server_port),
          acceptor(loop, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)),
          port(acceptor.local_endpoint().port()) {
        accept();
        thread = std::thread([this] { loop.run(); });
    }
    ~Impl() {
        loop.stop();
        thread.join();
    }

    void accept() {
        acceptor.async_accept([this](auto error, tcp::socket client) {
            if (error) return;
            if (allowed) connect(std::make_shared<tcp::socket>(std::move(client)));
            accept();
        });
    }

    void connect(std::shared_ptr<tcp::socket> client) {
        auto other = std::make_shared<tcp::socket>(loop);
        other->async_connect(server, [this, client, other](auto error) {
            if (error) return;
            client->set_option(tcp::no_delay(true));
            other->set_option(tcp::no_delay(true));
            start(std::make_shared<Flow>(client, other, false, counts));
            const auto answers = std::make_shared<Flow>(other, client, true, counts);
            answers->delay = delay;
            start(answers);
            flows.insert(answers);
        });
    }

    void start(const std::shared_ptr<Flow>& flow) { flow->read(); }

    /// On the proxy's thread, and waits for it.
    template <class Do>
    void on_thread(Do work) {
        std::promise<void> done;
        boost::asio::post(loop, [&] {
            work();
            done.set_value();
        });
        done.get_future().wait();
    }

    boost::asio::io_context loop;
    tcp::endpoint server;
    tcp::acceptor acceptor;
    const std::uint16_t port;
    Counts counts;
    bool allowed = true;
    Duration delay{};
    std::set<std::shared_ptr<Flow>, std::owner_less<>> flows;
    std::thread thread;
};

TcpProxy::TcpProxy(std::uint16_t server) : impl_(std::make_unique<Impl>(server)) {}
TcpProxy::~TcpProxy() = default;

std::uint16_t TcpProxy::port() const {
    return impl_->port;
}

void TcpProxy::delay_answers(Duration delay) {
    impl_->on_thread([&] {
        impl_->delay = delay;
        for (const auto& flow : impl_->flows)
            flow->delay = delay;
    });
}

void TcpProxy::lose_answers() {
    impl_->on_thread([&] {
        for (const auto& flow : impl_->flows)
            flow->loses = true;
    });
}

void TcpProxy::cut() {
    impl_->on_thread([&] {
        impl_->allowed = false;
        for (const auto& flow : impl_->flows)
            flow->end();
        impl_->flows.clear();
    });
}

void TcpProxy::allow() {
    impl_->on_thread([&] { impl_->allowed = true; });
}

std::uint64_t TcpProxy::answered_bytes() const {
    return impl_->counts.answered_bytes;
}

std::uint64_t TcpProxy::turns() const {
    return impl_->counts.turns;
}

}  // namespace holdfast
