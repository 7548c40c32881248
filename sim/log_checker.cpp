#include "sim/log_checker.h"

#include <algorithm>

namespace holdfast::sim {
namespace {

std::string at_place(consensus::LogIndex index) {
    return " at " + std::to_string(index);
}

/// A fingerprint of the visible state. Of the audit it covers only the number of lines and the last one.
class Print {
 public:
    void add(std::uint64_t number) {
        for (int byte = 0; byte < 8; ++byte, number >>= 8)
            value_ = (value_ ^ (number & 0xff)) * 0x100000001b3;
    }
    void add(const std::string& text) {
        for (const char letter : text)
            value_ = (value_ ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
        add(text.size());
    }
    std::uint64_t value() const { return value_; }

 private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};

std::uint64_t print_of(const agreed::ClusterState& state) {
    Print print;
    const lease::Policy& policy = state.policy();
    print.add(state.policy_version());
    for (const Duration each : {policy.ttl_min, policy.ttl_max, policy.ttl_default, policy.wait_max})
        print.add(static_cast<std::uint64_t>(each.count()));
    for (const auto& [holder, ban] : policy.bans) {
        print.add(holder);
        print.add(ban.reason);
    }
    for (const auto& [id, agent] : state.agents()) {
        print.add(id);
        print.add(static_cast<std::uint64_t>(agent.priority));
        print.add(agent.epoch);
        print.add(agent.restarting ? 1 : 0);
    }
    print.add(state.members().size());
    print.add(state.audit().size());
    if (!state.audit().empty()) print.add(state.audit().back().who);
    return print.value();
}

bool same_bans(const lease::Policy& a, const lease::Policy& b) {
    return std::equal(a.bans.begin(), a.bans.end(), b.bans.begin(), b.bans.end(),
                      [](const auto& one, const auto& other) { return one.first == other.first; });
}

}  // namespace

void LogChecker::applied(unsigned node, consensus::LogIndex index, const std::string& entry) {
    Node& here = nodes_[node];
    const std::string who = "node " + std::to_string(node);
    const consensus::LogIndex highest_before = highest();
    const auto [known, fresh] = entries_.try_emplace(index, entry);
    if (fresh) ++counts_.entries;
    if (!fresh && known->second != entry)
        fail_("L1", "the log has forked: " + who + " applies another entry" + at_place(index));
    if (fresh && index < highest_before)
        fail_("L1", "the log has forked: " + who + " applies an entry" + at_place(index) + " where others had none");
    if (index <= here.last) fail_("L1", who + " applies an entry twice or too late" + at_place(index));
    here.last = index;
}

void LogChecker::stands(unsigned node, const agreed::ConsensusLog::Status& status, const agreed::ClusterState& agreed,
                        const lease::Policy& in_force) {
    Node& here = nodes_[node];
    if (!here.started || status.applied != here.stands_at) {
        if (!here.started && status.applied > 0 && here.last == 0) ++counts_.snapshots;
        if (here.started && entries_.upper_bound(here.last) != entries_.upper_bound(status.applied)) ++counts_.installs;
        here.started = true;
        here.stands_at = here.last = status.applied;
        check_state(node, status.applied, agreed);
    }
    if (agreed.trouble()) fail_("L3", "node " + std::to_string(node) + ": " + agreed.trouble()->message);
    if (!agreed.members().empty() && !same_bans(agreed.policy(), in_force))
        fail_("L3",
              "node " + std::to_string(node) + " enforces other bans than it has applied" + at_place(status.applied));
    check_leader(node, status);
}

void LogChecker::check_state(unsigned node, consensus::LogIndex at, const agreed::ClusterState& agreed) {
    const std::uint64_t print = print_of(agreed);
    const auto [known, fresh] = states_.try_emplace(at, print);
    if (!fresh && known->second != print)
        fail_("L3", "node " + std::to_string(node) + " has another policy than others had" + at_place(at));
}

void LogChecker::check_leader(unsigned node, const agreed::ConsensusLog::Status& status) {
    Node& here = nodes_[node];
    if (status.leader != static_cast<store::quorum::NodeIndex>(node) || status.ballot.node != node) {
        here.leads = false;
        return;
    }
    if (here.ballot != status.ballot) {
        here.ballot = status.ballot;
        here.owes = highest();
        here.leads = false;
    }
    if (here.leads || !status.leads) return;
    here.leads = true;
    ++counts_.leaders;
    const auto [first, fresh] = led_.try_emplace(status.ballot.term, node);
    if (!fresh && first->second != node)
        fail_("L1", "two nodes lead in the term " + std::to_string(status.ballot.term));
    if (status.committed < here.owes)
        fail_("L1",
              "node " + std::to_string(node) + " leads, and has forgotten what was applied" + at_place(here.owes));
}

void LogChecker::acknowledged(const std::string& mark) {
    ++counts_.acknowledged;
    const bool there = std::any_of(entries_.begin(), entries_.end(),
                                   [&](const auto& one) { return one.second.find(mark) != std::string::npos; });
    if (!there) fail_("L1", "what " + mark + " was told is done is not in the log");
    marks_.insert(mark);
}

void LogChecker::check_audit(const agreed::ClusterState& agreed) {
    std::map<std::string, int> lines;
    for (const store::AuditEntry& entry : agreed.audit())
        ++lines[entry.who];
    for (const std::string& mark : marks_)
        if (lines[mark] != 1)
            fail_("L3", "what " + mark + " has done is in the audit " + std::to_string(lines[mark]) + " times");
}

}  // namespace holdfast::sim
