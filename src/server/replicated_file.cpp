#include "server/replicated_file.h"

#include "agreed/replicated_state.h"
#include "base/random.h"
#include "consensus/disk/sqlite_log_disk.h"

namespace holdfast::server {
namespace {

bool is_empty(const consensus::LogFound& found) {
    return found.committed == 0 && !found.snapshot && found.decrees.empty();
}

}  // namespace

Result<std::unique_ptr<agreed::ReplicatedState>> open_replicated_state(ReplicatedFile file,
                                                                       agreed::ReplicatedState::Parts parts) {
    auto opened = consensus::disk::LogFile::open(file.path);
    if (!opened) return opened.error();
    parts.found = (*opened)->take_found();
    if (parts.members.size() == 1 && is_empty(parts.found)) {
        consensus::LogWrite first = agreed::founding_alone(
            {parts.first_policy, agreed::recorded_members(parts.members)}, Random(~parts.seed).next());
        if (auto written = (*opened)->write({first}); !written) return written.error();
        parts.found = {*first.promised, *first.committed, std::nullopt, std::move(first.decrees)};
    }
    parts.disk = std::make_unique<consensus::disk::SqliteLogDisk>(
        consensus::disk::SqliteLogDisk::Parts{std::move(*opened), std::move(file.post), parts.on_failure});
    return agreed::ReplicatedState::make(std::move(parts));
}

}  // namespace holdfast::server
