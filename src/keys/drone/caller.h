#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "client/http_connection.h"

namespace holdfast::drone {

/// A thread with a connection, which makes one call after the other: a call that hangs holds up no other kind of call.
class Caller {
 public:
    /// Gets the answer and where among the servers it came from; called in this object's thread.
    using Done = std::function<void(const Result<HttpResponse>& answer, std::size_t server)>;

    /// REQUIRES: the servers were checked with parse_servers().
    explicit Caller(const std::string& servers);
    ~Caller() { stop(); }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    void call(HttpRequest request, Duration timeout, Done done);

    /// Ends the call that is under way and drops the others.
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
