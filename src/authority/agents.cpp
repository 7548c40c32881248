#include "authority/agents.h"

#include <algorithm>
#include <utility>

#include "authority/store_call.h"
#include "base/assert.h"
#include "lease/limits.h"

namespace holdfast::authority {
namespace {

constexpr Duration first_delay = 100ms;
constexpr unsigned max_doublings = 8;  // 25.6 s

}  // namespace

std::string session_of_epoch(std::uint64_t epoch) {
    return "epoch:" + std::to_string(epoch);
}

Agents::Agents(Parts parts) : durable_(parts.durable), random_(parts.random), on_changed_(std::move(parts.on_changed)) {
    for (const store::SavedAgent& saved : parts.saved)
        add({{saved.id, saved.priority, saved.epoch, saved.restarting, 0}, parts.now, saved.priority});
}

void Agents::add(Entry added) {
    entries_.push_back(std::move(added));
    by_id_.emplace(entries_.back().agent.id, std::prev(entries_.end()));
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
    if (epoch && *epoch < agent.epoch) return Code::stale_epoch;
    const bool newer = epoch && *epoch > agent.epoch;
    if (newer) {
        agent.epoch = *epoch;
        agent.restarting = false;
        on_changed_(agent.id);
    }
    if (newer || known->unsaved) save_later(*known);
    return std::nullopt;
}

bool Agents::make_room(Duration kept, Instant now) {
    if (by_id_.size() < lease::limits::agents) return true;
    const Entry& oldest = entries_.front();
    if (now < oldest.seen + kept) return false;
    durable_.submit(store::ForgottenAgent{oldest.agent.id}, std::nullopt, [](const Result<void>&) {});
    by_id_.erase(oldest.agent.id);
    entries_.pop_front();
    return true;
}

void Agents::put(const AgentRequest& request, const Limits& limits, Instant now, Callback<Answer<bool>> reply) {
    if (const auto stale = see(request.id, request.epoch, now)) return reply(Refused{*stale, {}, {}});
    const bool is_new = entry(request.id) == nullptr;
    if (is_new) {
        if (!make_room(limits.kept, now)) return reply(Refused{Code::too_many_agents, {}, Duration{1min}});
        add({{request.id, limits.priority_now, request.epoch.value_or(1), false, 0}, now});
    }
    Agent& agent = entry(request.id)->agent;
    agent.priority = request.priority.value_or(agent.priority);
    const lease::Priority put = agent.priority;
    save(agent, [this, request, is_new, put, reply = std::move(reply)](const Result<void>& saved) mutable {
        if (!saved) {
            put_failed(request);
            return reply(storage_failure(saved.error()));
        }
        Entry* known = entry(request.id);
        // Another node or a later request may have changed it since.
        if (known != nullptr && (!known->saved || known->agent.priority == put)) known->saved = put;
        reply(is_new);
    });
}

/// Restores the durable state, which another node may have changed meanwhile.
void Agents::put_failed(const AgentRequest& request) {
    Entry* known = entry(request.id);
    if (known == nullptr) return;
    if (!known->saved) return erase(request.id);
    if (known->agent.priority == request.priority) known->agent.priority = *known->saved;
}

void Agents::declare_restart(std::string_view id) {
    Entry* known = entry(id);
    HOLDFAST_ASSERT(known != nullptr);
    known->agent.restarting = true;
    on_changed_(known->agent.id);
    save_later(*known);
}

void Agents::forget(const std::string& id, const store::AuditEntry& audit, Callback<Answer<bool>> reply) {
    if (entry(id) == nullptr) return reply(false);
    durable_.submit(store::ForgottenAgent{id}, audit,
                    [this, id, taken = taken_, reply = std::move(reply)](const Result<void>& forgotten) mutable {
                        if (!forgotten) return reply(storage_failure(forgotten.error()));
                        // If a take ran meanwhile, the agent may have been registered again since.
                        if (taken == taken_) erase(id);
                        reply(true);
                    });
}

void Agents::take(const store::SavedAgent& saved, Instant now) {
    ++taken_;
    Entry* known = entry(saved.id);
    if (known == nullptr)
        return add({{saved.id, saved.priority, saved.epoch, saved.restarting, 0}, now, saved.priority});
    touch(saved.id, now);
    known->saved = saved.priority;
    Agent& agent = known->agent;
    agent.priority = saved.priority;
    if (saved.epoch < agent.epoch) return;  // the newer epoch seen here is being saved
    const bool ends = saved.restarting && !agent.restarting;
    const bool begins = saved.epoch > agent.epoch;
    agent.epoch = saved.epoch;
    agent.restarting = saved.restarting || (agent.restarting && !begins);
    if (begins || ends) on_changed_(agent.id);
}

void Agents::take_forgotten(const std::string& id) {
    ++taken_;
    erase(id);
}

void Agents::take_all(const std::map<std::string, store::SavedAgent, std::less<>>& saved, Instant now) {
    std::vector<std::string> gone;
    for (const auto& [id, known] : by_id_)
        if (!saved.contains(id)) gone.push_back(id);
    for (const std::string& id : gone)
        erase(id);
    for (const auto& [id, agent] : saved)
        take(agent, now);
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
    const Duration delay = first_delay * (1U << std::min(deaths, max_doublings));
    return delay / 2 + Duration{static_cast<Duration::rep>(random_.unit() * static_cast<double>(delay.count()))};
}

void Agents::granted(std::string_view id) {
    if (Entry* known = entry(id)) known->agent.deaths = 0;
}

void Agents::save_later(Entry& entry_of) {
    entry_of.unsaved = false;
    save(entry_of.agent, [this, id = entry_of.agent.id](const Result<void>& saved) {
        if (Entry* known = entry(id); known != nullptr && !saved) known->unsaved = true;
    });
}

void Agents::save(const Agent& agent, Callback<Result<void>> done) {
    const store::SavedAgent saved{agent.id, agent.priority, agent.epoch, agent.restarting};
    durable_.submit(saved, std::nullopt, std::move(done));
}

}  // namespace holdfast::authority
