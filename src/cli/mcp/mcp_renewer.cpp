#include "cli/mcp/mcp_renewer.h"

#include <algorithm>

#include "base/clock.h"
#include "base/code.h"
#include "cli/api.h"

namespace holdfast::cli::mcp {
namespace {

namespace json = boost::json;

/// The leases' clock counts the time in suspend, that of condition variables does not.
constexpr auto max_pause = 1s;
/// Half of the server's limit for one message.
constexpr std::size_t max_message_bytes = 512U << 10;

}  // namespace

McpRenewer::McpRenewer(std::shared_ptr<client::ServerList> servers, const McpAgent& agent, McpLeases& leases)
    : servers_(std::move(servers)), agent_(agent), leases_(leases), thread_([this] { run(); }) {}

void McpRenewer::leases_added() {
    const std::lock_guard lock(mutex_);
    added_ = true;
    changed_.notify_all();
}

void McpRenewer::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    cancellation_.cancel();
    if (thread_.joinable()) thread_.join();
}

void McpRenewer::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        const HolderInstant now = holder_clock_now();
        const HolderInstant next = leases_.next();
        if (next > now) {
            const Duration pause = std::min<Duration>(next - now, max_pause);
            const auto is_over = [this] { return stopping_ || added_; };
            if (next == HolderInstant::max())
                changed_.wait(lock, is_over);
            else
                changed_.wait_for(lock, pause, is_over);
            added_ = false;
            continue;
        }
        lock.unlock();
        renew(leases_.take_due(now));
        lock.lock();
    }
}

void McpRenewer::renew(const std::vector<std::string>& ids) {
    for (std::size_t from = 0; from < ids.size();) {
        json::array names;
        std::size_t bytes = 0;
        std::size_t end = from;
        for (; end < ids.size() && (end == from || bytes + ids[end].size() < max_message_bytes); ++end) {
            bytes += ids[end].size() + 8;
            names.emplace_back(ids[end]);
        }
        json::object body = agent_.signature();
        body["leases"] = std::move(names);
        Api api{servers_};
        const Cancellation::Covers covers(cancellation_, api.connection());
        const HolderInstant sent_at = holder_clock_now();
        const auto answer = api.send("POST", "/v1/heartbeat", body);
        const HolderInstant now = holder_clock_now();
        const bool replaced = answer && code_in(error_code_of(*answer)) == Code::stale_epoch;
        if (answer && answer->ok())
            for (const json::value& result : array_of(answer->body, "results"))
                leases_.answer(result, sent_at, now);
        for (; from < end; ++from) {
            if (replaced) leases_.lose(ids[from], {"stale_epoch", "a newer process of this agent has taken over"});
            if (!answer || !answer->ok()) leases_.unanswered(ids[from], now);
        }
    }
}

}  // namespace holdfast::cli::mcp
