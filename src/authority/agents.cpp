#include "authority/agents.h"

#include <algorithm>
#include <utility>

#include "authority/store_call.h"
#include "base/assert.h"
#include "lease/limits.h"

namespace holdfast::core {
namespace {

constexpr Duration first_delay = 100ms;
constexpr unsigned doublings_most = 8;  // 25.6 s

}  // namespace

Agents::Agents(Parts parts) : durable_(parts.durable), random_(parts.random), on_changed_(std::move(parts.on_changed)) {
    for (SavedAgent& saved : parts.saved) {
        entries_.push_back({{saved.id, saved.priority, saved.epoch, saved.restarting, 0}, parts.now});
        by_id_.emplace(std::move(saved.id), std::prev(entries_.end()));
    }
}

Agents::Entry* Agents::entry(std::string_view id) {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &*found->second;
}

const Agent* Agents::find(std::string_view id) const {
    if (by_id_.empty()) return nullptr;
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &found->second->agent;
}

AgentPage Agents::page(std::string_view after, std::size_t limit) const {
    AgentPage page;
    auto next = after.empty() ? by_id_.begin() : by_id_.upper_bound(after);
    for (; next != by_id_.end() && page.agents.size() < limit; ++next)
        page.agents.push_back(next->second->agent);
    page.more = next != by_id_.end();
    return page;
}

void Agents::touch(std::string_view id, Instant now) {
    const auto found = by_id_.find(id);
    found->second->seen = now;
    entries_.splice(entries_.end(), entries_, found->second);
}

std::optional<Code> Agents::see(std::string_view holder, std::optional<std::uint64_t> epoch, Instant now) {
    if (by_id_.empty()) return std::nullopt;
    Entry* known = entry(holder);
    if (known == nullptr) return std::nullopt;
    touch(holder, now);
    Agent& agent = known->agent;
    if (!epoch || *epoch == agent.epoch) return std::nullopt;
    if (*epoch < agent.epoch) return Code::stale_epoch;
    agent.epoch = *epoch;
    agent.restarting = false;
    save(agent, [](const Result<void>&) {});
    on_changed_(agent.id);
    return std::nullopt;
}

bool Agents::make_room(Duration kept, Instant now) {
    if (by_id_.size() < limits::agents) return true;
    const Entry& oldest = entries_.front();
    if (now < oldest.seen + kept) return false;
    durable_.forget_agent(oldest.agent.id, [](const Result<void>&) {});
    by_id_.erase(oldest.agent.id);
    entries_.pop_front();
    return true;
}

void Agents::put(const AgentRequest& request, const Limits& limits, Instant now, Callback<Answer<bool>> reply) {
    if (const auto stale = see(request.id, request.epoch, now)) return reply(Refused{*stale, {}, {}});
    const bool is_new = entry(request.id) == nullptr;
    if (is_new) {
        if (!make_room(limits.kept, now)) return reply(Refused{Code::too_many_agents, {}, Duration{1min}});
        entries_.push_back({{request.id, limits.priority_now, request.epoch.value_or(1), false, 0}, now});
        by_id_.emplace(request.id, std::prev(entries_.end()));
    }
    Agent& agent = entry(request.id)->agent;
    const Priority before = std::exchange(agent.priority, request.priority.value_or(agent.priority));
    save(agent, [this, id = request.id, is_new, before, reply = std::move(reply)](const Result<void>& saved) mutable {
        if (saved) return reply(is_new);
        if (Entry* unsaved = entry(id); unsaved != nullptr && !is_new) unsaved->agent.priority = before;
        if (is_new) erase(id);
        reply(storage_failure(saved.error()));
    });
}

void Agents::declare_restart(std::string_view id) {
    Entry* known = entry(id);
    HOLDFAST_ASSERT(known != nullptr);
    known->agent.restarting = true;
    save(known->agent, [](const Result<void>&) {});
    on_changed_(known->agent.id);
}

void Agents::forget(const std::string& id, Callback<Answer<bool>> reply) {
    if (entry(id) == nullptr) return reply(false);
    durable_.forget_agent(id, [this, id, reply = std::move(reply)](const Result<void>& forgotten) mutable {
        if (!forgotten) return reply(storage_failure(forgotten.error()));
        erase(id);
        reply(true);
    });
}

void Agents::erase(const std::string& id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return;
    entries_.erase(found->second);
    by_id_.erase(found);
}

Duration Agents::told_to_die(std::string_view id) {
    unsigned deaths = 0;
    if (Entry* known = entry(id)) deaths = known->agent.deaths++;
    const Duration delay = first_delay * (1U << std::min(deaths, doublings_most));
    return delay / 2 + Duration{static_cast<Duration::rep>(random_.unit() * static_cast<double>(delay.count()))};
}

void Agents::granted(std::string_view id) {
    if (Entry* known = entry(id)) known->agent.deaths = 0;
}

void Agents::save(const Agent& agent, Callback<Result<void>> done) {
    durable_.save_agent({agent.id, agent.priority, agent.epoch, agent.restarting}, std::move(done));
}

}  // namespace holdfast::core
