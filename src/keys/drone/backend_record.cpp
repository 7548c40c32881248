#include "keys/drone/backend_record.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "keys/drone/messages.h"

namespace holdfast::drone {
namespace {

namespace fs = std::filesystem;

constexpr const char* half_written = ".new";

/// One line per field: its name, a space, its value.
std::optional<BackendRecord> read_record(const fs::path& path) {
    std::ifstream file{path};
    BackendRecord record;
    std::string field, line;
    while (file >> field) {
        if (field == "backend") file >> record.backend;
        if (field == "boot") file >> record.boot;
        if (field == "guardian") file >> record.guardian >> record.guardian_start;
        if (field == "group") file >> record.group;
        std::getline(file, line);
        if (field == "cgroup" && !line.empty()) record.cgroup = line.substr(1);
    }
    const bool whole = record.backend == path.filename() && !record.boot.empty() && record.guardian > 0;
    return whole ? std::optional(record) : std::nullopt;
}

}  // namespace

Result<void> BackendRecords::write(const BackendRecord& record) const {
    const std::string path = directory_ + "/" + record.backend;
    {
        std::ofstream file{path + half_written};
        file << "backend " << record.backend << "\nboot " << record.boot << "\nguardian " << record.guardian << ' '
             << record.guardian_start << "\ngroup " << record.group << '\n';
        if (!record.cgroup.empty()) file << "cgroup " << record.cgroup << '\n';
        if (!file.flush()) return Error{"state_unusable", "cannot write " + path + ": " + std::strerror(errno)};
    }
    std::error_code failed;
    fs::rename(path + half_written, path, failed);
    if (failed) return Error{"state_unusable", "cannot write " + path + ": " + failed.message()};
    return {};
}

void BackendRecords::remove(const std::string& backend) const {
    std::error_code ignored;
    fs::remove(directory_ + "/" + backend, ignored);
}

std::vector<BackendRecord> BackendRecords::read_all() const {
    std::vector<BackendRecord> records;
    std::error_code failed;
    for (fs::directory_iterator at{directory_, failed}, end; !failed && at != end; at.increment(failed)) {
        if (!is_name(at->path().filename().string())) continue;
        if (const auto record = read_record(at->path())) records.push_back(*record);
    }
    return records;
}

std::string boot_id() {
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string id;
    file >> id;
    return id;
}

}  // namespace holdfast::drone
