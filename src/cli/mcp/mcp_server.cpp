#include "cli/mcp/mcp_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <string_view>
#include <sys/poll.h>
#include <unistd.h>

#include "base/lines.h"
#include "cli/screen.h"

namespace holdfast::cli::mcp {

McpOutput::McpOutput(int descriptor) : descriptor_(descriptor) {}

bool McpOutput::is_writable() const {
    pollfd waiting[]{{descriptor_, POLLOUT, 0}, {stopped_.fd(), POLLIN, 0}};
    while (::poll(waiting, 2, -1) < 0 && errno == EINTR) {
    }
    return (waiting[0].revents & POLLOUT) != 0;
}

bool McpOutput::write_line(const std::string& line) {
    const std::lock_guard lock(mutex_);
    const std::string text = line + "\n";
    std::string_view rest = text;
    while (!rest.empty() && !broken_) {
        if (!is_writable()) {
            broken_ = true;
            break;
        }
        // A pipe that is writable takes this much without blocking.
        const ssize_t done = ::write(descriptor_, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
        if (done > 0) rest.remove_prefix(static_cast<std::size_t>(done));
        if (done < 0 && errno != EINTR && errno != EAGAIN) broken_ = true;
    }
    return !broken_;
}

void McpOutput::stop() {
    stopped_.notify();
}

namespace {

constexpr std::size_t max_waiting = 16;
constexpr std::size_t max_under_way = 64;
/// A client that pipes requests in and closes the pipe still gets answers, but a host that ends a session must not wait
/// long.
constexpr auto last_answers = std::chrono::milliseconds{2000};
/// A call whose connection was stopped returns at once.
constexpr auto last_goodbye = std::chrono::milliseconds{5000};

bool is_same(const JsonValue& id, const JsonValue& other) {
    return id.kind == other.kind && id.text == other.text;
}

McpOutcome too_many() {
    auto content = error_object({Code::too_many_calls, "at most 64 calls at once"});
    content.set("lost", JsonValue::List{});
    return {"Too many calls at once; wait for some of them and try again.", std::move(content), true};
}

}  // namespace

McpServer::McpServer(Streams streams, McpProtocol protocol, McpTools& tools)
    : input_(streams.input),
      output_(streams.output),
      protocol_(std::move(protocol)),
      tools_(tools),
      waiting_(max_waiting) {}

void McpServer::stop() {
    stopped_.notify();
    output_.stop();
    cancel_jobs(false);
}

void McpServer::run() {
    const bool ended_by_itself = read_input();
    cancel_jobs(ended_by_itself);
    if (!await_jobs(last_answers)) cancel_jobs(false);
    await_jobs(last_goodbye);
}

/// True if the input ended; false if stop() was called.
bool McpServer::read_input() {
    LineSplitter lines;
    std::array<char, 65536> buffer{};
    const auto on_line = [this](std::string_view line) {
        take(line);
        return true;
    };
    for (;;) {
        pollfd waiting[]{{input_, POLLIN, 0}, {stopped_.fd(), POLLIN, 0}};
        if (::poll(waiting, 2, -1) < 0) continue;
        if (waiting[1].revents != 0) return false;
        const ssize_t got = ::read(input_, buffer.data(), buffer.size());
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got <= 0) break;
        lines.feed({buffer.data(), static_cast<std::size_t>(got)}, on_line,
                   [this] { send({McpProtocol::too_long()}, false); });
    }
    lines.finish(on_line);
    return true;
}

void McpServer::take(std::string_view line) {
    McpReaction reaction = protocol_.take(line);
    for (const JsonValue& id : reaction.cancelled)
        cancel(id);
    if (reaction.calls.empty())
        send(reaction.answers, reaction.batch);
    else
        submit(std::move(reaction));
}

void McpServer::submit(McpReaction reaction) {
    const auto job = std::make_shared<Job>(std::move(reaction));
    for (const McpCall& call : job->reaction.calls)
        job->waits = job->waits || McpTools::waits(call);
    bool full = false;
    {
        const std::lock_guard lock(mutex_);
        full = under_way_.size() >= max_under_way;
        if (!full) under_way_.push_back(job);
    }
    client::Workers& workers = job->waits ? waiting_ : in_order_;
    if (!full && workers.submit([this, job] { work(job); })) return;
    JsonValue::List answers = job->reaction.answers;
    for (const McpCall& call : job->reaction.calls)
        answers.push_back(protocol_.answer(call, too_many()));
    send(answers, job->reaction.batch);
    const std::lock_guard lock(mutex_);
    under_way_.remove(job);
}

void McpServer::work(const std::shared_ptr<Job>& job) {
    JsonValue::List answers = job->reaction.answers;
    for (std::size_t i = 0; i < job->reaction.calls.size(); ++i) {
        const McpCall& call = job->reaction.calls[i];
        const std::stop_token stop = job->stops[i].get_token();
        if (stop.stop_requested()) continue;
        const McpOutcome outcome = tools_.run(call, stop);
        if (!stop.stop_requested()) answers.push_back(protocol_.answer(call, outcome));
    }
    send(answers, job->reaction.batch);
    const std::lock_guard lock(mutex_);
    under_way_.remove(job);
    changed_.notify_all();
}

void McpServer::cancel(const JsonValue& id) {
    const std::lock_guard lock(mutex_);
    for (const auto& job : under_way_)
        for (std::size_t i = 0; i < job->reaction.calls.size(); ++i)
            if (is_same(job->reaction.calls[i].id, id)) job->stops[i].request_stop();
}

void McpServer::cancel_jobs(bool only_waiting) {
    const std::lock_guard lock(mutex_);
    for (const auto& job : under_way_)
        for (std::stop_source& stop : job->stops)
            if (job->waits || !only_waiting) stop.request_stop();
}

bool McpServer::await_jobs(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return under_way_.empty(); });
}

void McpServer::send(const JsonValue::List& answers, bool batch) {
    bool read = true;
    if (batch && !answers.empty()) read = output_.write_line(to_text(answers));
    if (!batch)
        for (const JsonValue& answer : answers)
            read = read && output_.write_line(to_text(answer));
    if (read) return;
    stopped_.notify();
}

}  // namespace holdfast::cli::mcp
