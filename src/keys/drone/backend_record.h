#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/result.h"

namespace holdfast::drone {

/// What a drone writes down of each backend before it starts it, so that its next life finds what this one left.
struct BackendRecord {
    std::string backend;
    std::string boot;  ///< which run of the machine the process ids belong to
    pid_t guardian = 0;
    std::uint64_t guardian_start = 0;  ///< with the id, names one process and no stranger
    pid_t group = 0;                   ///< of the command; zero before it runs
    std::string cgroup{};              ///< empty: none

    bool operator==(const BackendRecord&) const = default;
};

/// One small file per backend in a directory. It need not survive a power cut: neither do the processes.
class BackendRecords {
 public:
    explicit BackendRecords(std::string directory) : directory_(std::move(directory)) {}

    Result<void> write(const BackendRecord& record) const;
    void remove(const std::string& backend) const;
    /// All that can be read; a file that makes no sense is left out.
    std::vector<BackendRecord> read_all() const;

 private:
    std::string directory_;
};

/// Names this run of the machine.
std::string boot_id();

}  // namespace holdfast::drone
