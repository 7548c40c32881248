#include "keys/drone/backend_record.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <poll.h>
#include <unistd.h>
#include <vector>

#include "keys/protocol.h"
#include "supervise/cgroup.h"
#include "supervise/processes.h"

namespace holdfast::keys::drone {
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
        if (!file.flush()) return Error{Code::state_unusable, "cannot write " + path + ": " + std::strerror(errno)};
    }
    std::error_code failed;
    fs::rename(path + half_written, path, failed);
    if (failed) return Error{Code::state_unusable, "cannot write " + path + ": " + failed.message()};
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
        if (!is_plain_name(at->path().filename().string())) continue;
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

namespace {

constexpr int look_again_ms = 10;
/// Report processes that are still there after this many checks: they may be stuck in the kernel.
constexpr int looks_before_a_word = 500;

bool is_marked(pid_t process, const std::string& mark) {
    std::ifstream file{"/proc/" + std::to_string(process) + "/environ"};
    std::string variable;
    while (std::getline(file, variable, '\0'))
        if (variable == mark) return true;
    return false;
}

/// Adds the living processes of a backend: its guardian, all descendants of that, and every process with the backend's
/// mark.
void find_living(const BackendRecord& record, std::map<pid_t, std::uint64_t>& starts) {
    const supervise::ProcessTable table = supervise::ProcessTable::read();
    const std::string mark = std::string(backend_variable) + record.backend;
    const bool guarded = supervise::start_time_of(record.guardian) == record.guardian_start;
    std::vector<pid_t> below;
    if (guarded) below = table.living_below(record.guardian);
    for (const supervise::Process& process : table.all()) {
        if (process.dead || process.id == getpid()) continue;
        const bool is_below = std::find(below.begin(), below.end(), process.id) != below.end();
        if (is_below || (guarded && process.id == record.guardian) || is_marked(process.id, mark))
            starts[process.id] = process.start;
    }
}

bool is_gone(pid_t id, std::uint64_t start) {
    const auto process = supervise::read_process(id);
    return !process || process->start != start || process->dead;
}

/// Waits for each process by its id: a killed process loses its environment, and with it the mark, some time before it
/// is dead.
bool kill_one(const BackendRecord& record, const std::function<void(const std::string&)>& say) {
    const supervise::Cgroup cgroup{record.cgroup};
    std::map<pid_t, std::uint64_t> left;
    bool was_alive = false;
    for (int look = 1;; ++look) {
        find_living(record, left);
        std::erase_if(left, [](const auto& found) { return is_gone(found.first, found.second); });
        if (left.empty() && cgroup.is_empty()) break;
        was_alive = true;
        if (look == 1) say("backend " + record.backend + " of an earlier run is still running; killing it");
        if (look % looks_before_a_word == 0)
            say("backend " + record.backend + " of an earlier run was killed and is still there");
        cgroup.kill();
        for (const auto& [process, start] : left)
            ::kill(process, SIGKILL);
        ::poll(nullptr, 0, look_again_ms);
    }
    cgroup.remove();
    return was_alive;
}

}  // namespace

std::size_t kill_leftovers(const BackendRecords& records, const std::function<void(const std::string&)>& say) {
    std::size_t found = 0;
    for (const BackendRecord& record : records.read_all()) {
        // After a reboot none of its processes can run, and its cgroup's name may have been reused.
        if (record.boot == boot_id() && kill_one(record, say)) ++found;
        records.remove(record.backend);
    }
    return found;
}

}  // namespace holdfast::keys::drone
