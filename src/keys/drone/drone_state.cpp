#include "keys/drone/drone_state.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "keys/drone/backend_record.h"
#include "keys/limits.h"
#include "keys/protocol.h"
#include "supervise/cgroup.h"

namespace holdfast::keys::drone {
namespace {

constexpr std::size_t max_host_name_bytes = 64;
constexpr std::size_t life_bytes = 16;

std::string host_name() {
    char name[max_host_name_bytes + 1]{};
    ::gethostname(name, max_host_name_bytes);
    std::string host = name;
    std::erase_if(host, [](char c) { return !is_plain_name(std::string(1, c)) && c != '.'; });
    return is_plain_name(host) ? host : "drone";
}

/// The id stored in the directory, so that a drone keeps it over a restart. The random part tells two drones on one
/// machine apart: controllers accept only one drone per id.
Result<std::string> kept_id(const std::string& file) {
    std::string id;
    std::ifstream{file} >> id;
    if (is_plain_name(id)) return id;
    id = host_name() + "-" + random_hex(4);
    std::ofstream out{file};
    out << id << '\n';
    if (!out.flush()) return Error{Code::state_unusable, "cannot write " + file + ": " + std::strerror(errno)};
    return id;
}

/// The earlier incarnations that used this directory; adds the current one to the file. Only the owner of the directory
/// can declare them over; another drone with the same id cannot.
Result<std::vector<std::string>> lives_before(const std::string& file, const std::string& life) {
    std::vector<std::string> lives;
    std::ifstream in{file};
    for (std::string each; std::getline(in, each);)
        if (is_plain_name(each)) lives.push_back(each);
    const std::size_t most = limits::earlier_lives;
    if (lives.size() > most) lives.erase(lives.begin(), lives.end() - static_cast<std::ptrdiff_t>(most));
    {
        std::ofstream out{file + ".new"};
        for (const std::string& each : lives)
            out << each << '\n';
        out << life << '\n';
        if (!out.flush()) return Error{Code::state_unusable, "cannot write " + file + ": " + std::strerror(errno)};
    }
    if (::rename((file + ".new").c_str(), file.c_str()) != 0)
        return Error{Code::state_unusable, "cannot write " + file + ": " + std::strerror(errno)};
    return lives;
}

Result<void> make_directory(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
    return Error{Code::state_unusable, "cannot create " + path + ": " + std::strerror(errno)};
}

/// A backend needs a socket, a pipe and a log file.
void make_room_for_files(std::size_t capacity) {
    rlimit limit{};
    const rlim_t wanted = capacity * 4 + 256;
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<std::string> path_of(const DroneOptions& options) {
    if (!options.state_dir.empty()) return options.state_dir;
    const auto shared = statefile::default_state_dir();
    if (!shared) return shared.error();
    return *shared + "/drone";
}

}  // namespace

Result<std::unique_ptr<DroneState>> open_drone_state(const DroneOptions& options, const DroneListener& listener) {
    const auto path = path_of(options);
    if (!path) return path.error();
    auto directory = statefile::StateDir::open(*path);
    if (!directory) return directory.error();
    const std::string records = directory->file("backends");
    const std::string logs = directory->file("logs");
    for (const std::string& name : {records, logs})
        if (const auto made = make_directory(name); !made) return made.error();
    const auto id = options.id.empty() ? kept_id(directory->file("id")) : Result<std::string>(options.id);
    if (!id) return id.error();
    make_room_for_files(options.capacity);
    auto state = std::make_unique<DroneState>(DroneState{std::move(*directory), BackendRecords{records}, logs, *id,
                                                         random_hex(life_bytes), supervise::writable_cgroup()});
    if (!state->cgroup) listener.info("cgroup v2 cannot be written here: backends are killed by process group");
    if (const std::size_t killed = kill_leftovers(state->records, listener.warn); killed > 0)
        listener.warn(std::to_string(killed) + " backend(s) of an earlier run were killed");
    auto earlier = lives_before(state->directory.file("lives"), state->life);
    if (!earlier) return earlier.error();
    state->earlier_lives = std::move(*earlier);
    return state;
}

}  // namespace holdfast::keys::drone
