#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/result.h"

namespace holdfast::keys::drone {

/// A drone writes this record before it starts a backend, so that its next incarnation finds the processes it left
/// behind.
struct BackendRecord {
    std::string backend;
    std::string boot;  ///< the boot of the machine that the process ids belong to
    pid_t guardian = 0;
    std::uint64_t guardian_start = 0;  ///< with the process id, identifies the process even if the id is reused
    pid_t group = 0;                   ///< process group of the command; zero before it runs
    std::string cgroup{};              ///< empty: none

    bool operator==(const BackendRecord&) const = default;
};

/// One small file per backend in a directory. The files need not survive a power failure, since the processes do not.
class BackendRecords {
 public:
    explicit BackendRecords(std::string directory) : directory_(std::move(directory)) {}

    Result<void> write(const BackendRecord& record) const;
    void remove(const std::string& backend) const;
    /// All readable records; malformed files are skipped.
    std::vector<BackendRecord> read_all() const;

 private:
    std::string directory_;
};

/// Identifies the current boot of the machine.
std::string boot_id();

/// The environment variable that marks all processes of a backend, even those that left its group.
inline constexpr std::string_view backend_variable = "HOLDFAST_BACKEND_ID=";

/// Kills all processes that an earlier incarnation of this drone left running, and returns when they are gone (K4). A
/// process known by its id is killed only if its start time and the boot of the machine match the record, since ids are
/// reused. Returns the number of backends that were found alive.
std::size_t kill_leftovers(const BackendRecords& records, const std::function<void(const std::string&)>& say);

}  // namespace holdfast::keys::drone
