#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/result.h"

namespace holdfast::drone {

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

}  // namespace holdfast::drone
