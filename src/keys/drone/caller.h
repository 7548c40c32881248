#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "client/http_connection.h"

namespace holdfast::drone {

/// A thread with its own connection that makes one call at a time. Each kind of call has its own Caller, so a call that
/// hangs does not delay the other kinds.
class Caller {
 public:
    /// Receives the answer and the index of the server that gave it; called on this object's thread.
    using Done = std::function<void(const Result<HttpResponse>& answer, std::size_t server)>;

    /// REQUIRES: the servers were checked with parse_servers().
    explicit Caller(const std::string& servers);
    ~Caller() { stop(); }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    void call(HttpRequest request, Duration timeout, Done done);

    /// Aborts the call in progress and drops the queued ones.
    void stop();

 private:
    struct Call {
        HttpRequest request;
        Duration timeout{};
        Done done;
    };

    void run();
    std::size_t place() const;

    const std::vector<std::string> servers_;
    HttpConnection connection_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Call> calls_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace holdfast::drone
