#include <algorithm>

#include "sim/holder.h"

namespace holdfast::sim {

/// G5: releases everything, and comes back with the same priority and the next epoch.
void Holder::die(Duration retry_in) {
    ++parts_.work.deaths;
    ++epoch_;
    for (const lease::LeaseName& name : drop_all())
        release(name, 0);
    ++round_;
    in_round(retry_in, [this] { begin_round(); });
}

void Holder::ask_for_more() {
    wants_more_ = false;
    plan_renewal();
    std::vector<std::string> others;
    for (const std::string& resource : parts_.resources)
        if (std::none_of(held_.begin(), held_.end(), [&](const Held& held) { return held.name.resource == resource; }))
            others.push_back(resource);
    if (others.empty()) return work_on(asking_);
    asking_.intents = *lease::checked_manifest({{dice_.one_of(others), lease::Predicate::mutates}});
    tries_ = 0;
    ask();
}

void Holder::register_agent() {
    authority::AgentRequest request;
    request.id = name_;
    request.priority = priority_;
    request.epoch = epoch_;
    const unsigned node = node_;
    note("registers as an agent at node ", node, ", epoch ", epoch_);
    send(node, Network::Doubles::never, [this, request, node](authority::Authority& authority, std::uint64_t life) {
        authority.put_agent(request, [this, node, life](const authority::Answer<authority::AgentAnswer>& answer) {
            tell(node, life, [this, answer] { on_registered(answer); });
        });
    });
}

void Holder::on_registered(const authority::Answer<authority::AgentAnswer>& answer) {
    const auto* refused = std::get_if<authority::Refused>(&answer);
    note(refused != nullptr ? "is not registered: " : "is registered",
         refused != nullptr ? name_of(refused->code) : "");
    if (refused == nullptr) {
        ++parts_.work.agents;
        registered_ = true;
        if (last_) begin_round();
        return;
    }
    if (refused->code == Code::stale_epoch) ++epoch_;
    if (last_) in_round(200ms, [this] { register_agent(); });
}

}  // namespace holdfast::sim
