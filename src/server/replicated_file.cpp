#include "server/replicated_file.h"

#include "agreed/replicated_state.h"
#include "base/random.h"
#include "consensus/disk/sqlite_log_disk.h"

namespace holdfast {
namespace {

bool is_empty(const core::LogFound& found) {
    return found.committed == 0 && !found.snapshot && found.decrees.empty();
}

}  // namespace

Result<std::unique_ptr<ReplicatedState>> open_replicated_state(ReplicatedFile file, ReplicatedState::Parts parts) {
    auto opened = LogFile::open(file.path);
    if (!opened) return opened.error();
    parts.found = (*opened)->take_found();
    if (parts.members.size() == 1 && is_empty(parts.found)) {
        core::LogWrite first =
            founding_alone({parts.first_policy, recorded_members(parts.members)}, Random(~parts.seed).next());
        if (auto written = (*opened)->write({first}); !written) return written.error();
        parts.found = {*first.promised, *first.committed, std::nullopt, std::move(first.decrees)};
    }
    parts.disk = std::make_unique<SqliteLogDisk>(
        SqliteLogDisk::Parts{std::move(*opened), std::move(file.post), parts.on_failure});
    return ReplicatedState::make(std::move(parts));
}

}  // namespace holdfast
