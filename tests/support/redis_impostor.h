#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {

/// A listener on loopback that is taken for a Redis and answers what a test tells it to, byte for byte: for what a real
/// one never does.
class RedisImpostor {
 public:
    using Words = std::vector<std::string>;
    /// What to send for a command; may block. One call at a time for each connection.
    using Script = std::function<std::string(const Words&)>;

    explicit RedisImpostor(Script script);
    ~RedisImpostor();
    RedisImpostor(const RedisImpostor&) = delete;
    RedisImpostor& operator=(const RedisImpostor&) = delete;

    /// The answer of a store that has been up for long, where nobody else lives and every session is free.
    static std::string usual_answer(const Words& command);

    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
    int connections() const { return connections_; }
    /// Sends no more on any connection there is, but goes on reading.
    void half_close();

 private:
    void accept_all();
    void serve(int socket);
    bool send(int socket, const std::string& bytes);

    const Script script_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_ = 0;
    std::mutex mutex_;
    std::vector<int> sockets_;
    std::vector<std::thread> threads_;
    std::thread acceptor_;
};

}  // namespace holdfast
