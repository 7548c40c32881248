#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/wakeup.h"
#include "cli/mcp/mcp_protocol.h"
#include "cli/mcp/mcp_tools.h"
#include "client/workers.h"

namespace holdfast::cli::mcp {

/// Standard output as the protocol requires: complete lines, one at a time, from any thread. A reader that does not
/// read blocks the writer, but only until stop().
class McpOutput {
 public:
    explicit McpOutput(int descriptor);

    /// Returns false if the output has no reader any more.
    bool write_line(const std::string& line);
    /// From now on a write that would block fails.
    void stop();

 private:
    bool is_writable() const;

    const int descriptor_;
    Wakeup stopped_;
    std::mutex mutex_;
    bool broken_ = false;
};

/// Reads requests and answers them, until the input ends or stop() is called. Tool calls run in their order of arrival,
/// except that a call that waits for a turn delays no other.
class McpServer {
 public:
    struct Streams {
        int input = 0;
        int output = 1;
    };
    McpServer(Streams streams, McpProtocol protocol, McpTools& tools);

    /// Returns when no call is running any more.
    void run();
    /// From any thread. Cancels every running call.
    void stop();

 private:
    /// Calls that arrived together and are answered together.
    struct Job {
        explicit Job(McpReaction taken) : reaction(std::move(taken)), stops(reaction.calls.size()) {}

        McpReaction reaction;
        std::vector<std::stop_source> stops;  ///< one for each call
        bool waits = false;
    };

    bool read_input();
    void take(std::string_view line);
    void submit(McpReaction reaction);
    void work(const std::shared_ptr<Job>& job);
    void cancel(const JsonValue& id);
    void cancel_jobs(bool only_waiting);
    bool await_jobs(std::chrono::milliseconds patience);
    void send(const JsonValue::List& answers, bool batch);

    const int input_;
    McpOutput output_;
    McpProtocol protocol_;
    McpTools& tools_;
    Wakeup stopped_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<std::shared_ptr<Job>> under_way_;
    client::Workers in_order_{1};
    client::Workers waiting_;
};

}  // namespace holdfast::cli::mcp
