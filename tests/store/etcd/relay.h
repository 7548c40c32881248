#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::store::etcd {

/// Passes bytes between whoever connects and a port of loopback, unless it is told to do otherwise.
class Relay {
    using tcp = boost::asio::ip::tcp;
    struct Pipe;

 public:
    Relay(boost::asio::io_context& io, std::uint16_t target)
        : io_(io), target_(target), acceptor_(io, {boost::asio::ip::address_v4::loopback(), 0}) {
        port_ = acceptor_.local_endpoint().port();
        accept();
    }
    ~Relay() { cut(); }

    std::uint16_t port() const { return port_; }
    std::string url() const { return "etcd://127.0.0.1:" + std::to_string(port_); }

    /// Ends all connections; new ones come to nothing until mended.
    void cut() {
        cut_ = true;
        for (const auto& pipe : std::exchange(pipes_, {}))
            pipe->close();
    }
    void mend() { cut_ = false; }

    /// What the client has sent on the connections of now stays here, and they stay open at the server, whatever the
    /// client does, until it is let go.
    void hold_requests() {
        for (const auto& pipe : pipes_)
            pipe->holding = true;
    }
    void let_go() {
        for (const auto& pipe : pipes_)
            if (std::exchange(pipe->holding, false)) {
                forward(*pipe->server, std::exchange(pipe->held, {}));
                ++let_go_count;
            }
    }
    /// What the server sends on the connections of now is lost.
    void lose_answers() {
        for (const auto& pipe : pipes_)
            pipe->deaf = true;
    }

    /// From now on what the server sends comes so much later. May be set from another thread.
    std::atomic<std::int64_t> delay_ms = 0;
    /// How often the client spoke again after the server had.
    int turns = 0;
    int let_go_count = 0;

 private:
    struct Pipe {
        std::shared_ptr<tcp::socket> client, server;
        std::array<char, 65536> up{}, down{};
        bool holding = false, deaf = false, server_spoke_last = true;
        std::string held;
        std::deque<std::pair<std::chrono::steady_clock::time_point, std::string>> delayed;
        boost::asio::steady_timer timer;

        explicit Pipe(boost::asio::io_context& io) : timer(io) {}
        void close() {
            boost::system::error_code ignored;
            client->close(ignored);
            server->close(ignored);
            timer.cancel();
        }
    };

    void accept() {
        acceptor_.async_accept([this](boost::system::error_code error, tcp::socket socket) {
            if (error) return;
            if (!cut_) join(std::move(socket));
            accept();
        });
    }
    void join(tcp::socket socket) {
        auto pipe = std::make_shared<Pipe>(io_);
        pipe->client = std::make_shared<tcp::socket>(std::move(socket));
        pipe->server = std::make_shared<tcp::socket>(io_);
        pipes_.push_back(pipe);
        pipe->server->async_connect({boost::asio::ip::address_v4::loopback(), target_},
                                    [this, pipe](boost::system::error_code error) {
                                        if (error) return pipe->close();
                                        pump_up(pipe);
                                        pump_down(pipe);
                                    });
    }
    void pump_up(const std::shared_ptr<Pipe>& pipe) {
        pipe->client->async_read_some(boost::asio::buffer(pipe->up),
                                      [this, pipe](boost::system::error_code error, std::size_t size) {
                                          if (error && pipe->holding) return;
                                          if (error) return pipe->close();
                                          turns += std::exchange(pipe->server_spoke_last, false);
                                          if (pipe->holding)
                                              pipe->held.append(pipe->up.data(), size);
                                          else
                                              forward(*pipe->server, {pipe->up.data(), size});
                                          pump_up(pipe);
                                      });
    }
    void pump_down(const std::shared_ptr<Pipe>& pipe) {
        pipe->server->async_read_some(boost::asio::buffer(pipe->down),
                                      [this, pipe](boost::system::error_code error, std::size_t size) {
                                          if (error) return pipe->close();
                                          pipe->server_spoke_last = true;
                                          if (!pipe->deaf) answer(pipe, {pipe->down.data(), size});
                                          pump_down(pipe);
                                      });
    }
    void answer(const std::shared_ptr<Pipe>& pipe, std::string bytes) {
        const auto delay = std::chrono::milliseconds(delay_ms.load());
        if (delay.count() == 0 && pipe->delayed.empty()) return forward(*pipe->client, bytes);
        pipe->delayed.emplace_back(std::chrono::steady_clock::now() + delay, std::move(bytes));
        if (pipe->delayed.size() == 1) answer_later(pipe);
    }
    void answer_later(const std::shared_ptr<Pipe>& pipe) {
        pipe->timer.expires_at(pipe->delayed.front().first);
        pipe->timer.async_wait([this, pipe](boost::system::error_code error) {
            if (error) return;
            forward(*pipe->client, pipe->delayed.front().second);
            pipe->delayed.pop_front();
            if (!pipe->delayed.empty()) answer_later(pipe);
        });
    }
    /// Blocks, which nobody minds here: all that is passed on fits into the buffers of the system.
    static void forward(tcp::socket& to, const std::string& bytes) {
        boost::system::error_code gone;
        boost::asio::write(to, boost::asio::buffer(bytes), gone);
    }

    boost::asio::io_context& io_;
    std::uint16_t target_;
    tcp::acceptor acceptor_;
    std::uint16_t port_ = 0;
    bool cut_ = false;
    std::vector<std::shared_ptr<Pipe>> pipes_;
};

}  // namespace holdfast::store::etcd
