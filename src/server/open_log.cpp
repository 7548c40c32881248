#include "server/open_log.h"

#include <utility>

#include "base/random.h"
#include "consensus/disk/sqlite_log_disk.h"

namespace holdfast::server {
namespace {

bool is_empty(const consensus::LogFound& found) {
    return found.committed == 0 && !found.snapshot && found.decrees.empty();
}

}  // namespace

Result<OpenedLog> open_log(LogPlace place, const agreed::Founding& founding) {
    auto file = consensus::disk::LogFile::open(place.path);
    if (!file) return file.error();
    consensus::LogFound found = (*file)->take_found();
    if (founding.members.size() == 1 && is_empty(found)) {
        consensus::LogWrite first = agreed::founding_alone(founding, random_seed());
        if (auto written = (*file)->write({first}); !written) return written.error();
        found = {*first.promised, *first.committed, std::nullopt, std::move(first.decrees)};
    }
    auto disk = std::make_unique<consensus::disk::SqliteLogDisk>(consensus::disk::SqliteLogDisk::Parts{
        std::move(*file), std::move(place.post), std::move(place.on_failure), std::move(place.on_written)});
    return OpenedLog{std::move(disk), std::move(found)};
}

}  // namespace holdfast::server
