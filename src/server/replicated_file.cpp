#include "server/replicated_file.h"

#include "agreed/cluster_state.h"
#include "agreed/replicated_founding.h"
#include "base/random.h"
#include "consensus/disk/sqlite_log_disk.h"

namespace holdfast {
namespace {

bool is_empty(const core::LogFound& found) {
    return found.committed == 0 && !found.snapshot && found.decrees.empty();
}

/// A single node takes its former state over into its log, as far as there is room. What was left out is forgotten.
std::optional<std::string> left_out(const ReplicatedState::Local& before, const ReplicatedState& state) {
    const std::size_t bans = before.policy.bans.size() - state.policy().bans.size();
    const std::size_t agents = before.agents.size() - state.agents().size();
    if (bans == 0 && agents == 0) return std::nullopt;
    return "the state of an earlier version has more than the " +
           std::to_string(core::ClusterState::state_bytes_most >> 20) +
           " MiB of bans and agents that there is room for: " + std::to_string(bans) + " bans and " +
           std::to_string(agents) +
           " agents are not in force any more. Compare 'holdfast bans' with your list, lift what is not needed and ban "
           "the "
           "rest again; agents register again by themselves";
}

}  // namespace

Result<std::unique_ptr<ReplicatedState>> open_replicated_state(ReplicatedFile file, ReplicatedState::Parts parts,
                                                               ReplicatedState::Local local) {
    auto opened = LogFile::open(file.path);
    if (!opened) return opened.error();
    parts.found = (*opened)->take_found();
    const bool founds = parts.members.size() == 1 && is_empty(parts.found);
    if (founds) {
        core::LogWrite first =
            founding_alone({local.policy, local.agents, recorded_members(parts.members)}, Random(~parts.seed).next());
        if (auto written = (*opened)->write({first}); !written) return written.error();
        parts.found = {*first.promised, *first.committed, std::nullopt, std::move(first.decrees)};
    }
    parts.disk = std::make_unique<SqliteLogDisk>(
        SqliteLogDisk::Parts{std::move(*opened), std::move(file.post), parts.on_failure});
    const ReplicatedState::Local before = founds ? local : ReplicatedState::Local{};
    auto state = ReplicatedState::make(std::move(parts), std::move(local));
    if (state && founds && file.on_left_out)
        if (const auto what = left_out(before, **state)) file.on_left_out(*what);
    return state;
}

}  // namespace holdfast
