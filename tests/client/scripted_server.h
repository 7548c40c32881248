#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::client {

/// A listener on loopback that does what a test tells it to, byte for byte: for what a real server never does, such as
/// losing an answer or talking nonsense. It knows no rules.
class ScriptedServer {
 public:
    struct Request {
        std::string method;
        std::string target;
        std::string headers;
        std::string body;
        int connection = 0;  ///< from 1, in the order they came
        int number = 0;      ///< from 1, over all connections
    };
    struct Reply {
        std::string bytes;   ///< sent as they are; none: no answer
        bool close = false;  ///< and then the connection is closed
    };
    using Script = std::function<Reply(const Request&)>;

    explicit ScriptedServer(Script script);
    ~ScriptedServer();
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;

    std::string url() const;
    int connections() const { return connections_; }
    int closed() const { return closed_; }
    int requests() const { return requests_; }

    /// Closes every connection there is, and goes on listening.
    void cut_connections();

 private:
    void accept_all();
    void serve(int socket, int connection);

    Script script_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_ = 0;
    std::atomic<int> closed_ = 0;
    std::atomic<int> requests_ = 0;
    std::mutex mutex_;
    std::vector<int> open_;
    std::vector<std::thread> threads_;
    std::thread acceptor_;
};

/// An answer as HTTP has it.
std::string http_answer(int status, const std::string& body, const std::string& more_headers = {});

/// A grant of `resource` with this token, with the timeline of the TTL.
std::string granted_answer(const std::string& resource, std::uint64_t token, int ttl_ms, int waited_ms = 0);
/// The answer to a heartbeat that renews this one lease.
std::string renewed_answer(const std::string& id, int ttl_ms);
/// The answer to a heartbeat that rejects this one lease.
std::string rejected_answer(const std::string& id, const std::string& code);

/// Waits until the condition is true, for a generous time; false if it never was.
bool eventually(const std::function<bool()>& condition);

}  // namespace holdfast::client
