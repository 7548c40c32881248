#include "agreed/replicated_founding.h"

namespace holdfast {

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
    add(core::PolicyCommand{policy_version, core::Policy{}, founding.policy});
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
