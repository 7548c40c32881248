#include "agreed/replicated_founding.h"

namespace holdfast {
namespace {

constexpr std::size_t approvals_per_entry = 1000;
constexpr std::size_t name_rules_per_entry = 100;
constexpr std::size_t bans_per_entry = 100;  // so that one entry is never too large

}  // namespace

std::vector<std::string> recorded_members(const std::vector<std::string>& members) {
    return members.size() == 1 ? std::vector<std::string>{"alone"} : members;
}

std::vector<FoundingEntry> founding_entries(const Founding& founding, std::uint64_t policy_version,
                                            const std::function<std::uint64_t()>& next_id) {
    std::vector<FoundingEntry> entries;
    const auto add = [&](const core::ClusterCommand& command) {
        const std::uint64_t id = next_id();
        entries.push_back({id, core::encode_command({id, std::nullopt}, command)});
    };
    core::Policy settings = founding.policy;
    settings.bans.clear();
    settings.approved.clear();
    settings.name_rules.clear();
    add(core::PolicyCommand{policy_version++, core::Policy{}, settings});
    core::Policy with_bans = settings;
    const auto add_bans = [&] {
        if (!with_bans.bans.empty()) add(core::PolicyCommand{policy_version++, settings, with_bans});
        with_bans.bans.clear();
    };
    for (const auto& [holder, ban] : founding.policy.bans) {
        with_bans.bans.emplace(holder, ban);
        if (with_bans.bans.size() == bans_per_entry) add_bans();
    }
    add_bans();
    core::Policy with_approved = settings;
    const auto add_approved = [&] {
        if (!with_approved.approved.empty()) add(core::PolicyCommand{policy_version++, settings, with_approved});
        with_approved.approved.clear();
    };
    for (const std::string& identity : founding.policy.approved) {
        with_approved.approved.insert(identity);
        if (with_approved.approved.size() == approvals_per_entry) add_approved();
    }
    add_approved();
    core::Policy with_rules = settings;
    const auto add_rules = [&] {
        if (!with_rules.name_rules.empty()) add(core::PolicyCommand{policy_version++, settings, with_rules});
        with_rules.name_rules.clear();
    };
    for (const auto& [about, rule] : founding.policy.name_rules) {
        with_rules.name_rules.emplace(about, rule);
        if (with_rules.name_rules.size() == name_rules_per_entry) add_rules();
    }
    add_rules();
    for (const core::SavedAgent& agent : founding.agents)
        add(core::AgentCommand{agent});
    add(core::MembersCommand{founding.members});
    return entries;
}

core::LogWrite founding_alone(const Founding& founding, std::uint64_t first_id) {
    core::LogWrite write;
    write.promised = core::LogBallot{1, 0};
    for (FoundingEntry& entry : founding_entries(founding, 0, [&] { return first_id++; }))
        write.decrees.push_back({write.decrees.size() + 1, *write.promised, std::move(entry.value)});
    write.committed = write.decrees.size();
    return write;
}

}  // namespace holdfast
