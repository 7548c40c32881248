#include "server/memory_watch.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

#include "base/text.h"

namespace holdfast::server {
namespace {

constexpr Duration read_every = 10ms;

std::uint64_t page_bytes() {
    return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t machine_bytes() {
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
}

/// The number on the first line of a file; UINT64_MAX if there is no such file or it says `max`.
std::uint64_t number_in(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) return UINT64_MAX;
    return parse_number(line).value_or(UINT64_MAX);
}

/// The lowest limit among this control group and its ancestors.
std::uint64_t control_group_bytes() {
    std::uint64_t least = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        if (!line.starts_with("0::/")) continue;
        for (std::string path = line.substr(3);; path.resize(path.rfind('/'))) {
            least = std::min(least, number_in("/sys/fs/cgroup" + path + "/memory.max"));
            if (path.empty() || path == "/") break;
        }
    }
    return least;
}

}  // namespace

std::uint64_t default_memory_limit() {
    const std::uint64_t machine = machine_bytes(), group = control_group_bytes();
    return group < machine ? group / 4 * 3 : machine / 2;
}

MemoryWatch::MemoryWatch(Parts parts)
    : parts_(std::move(parts)),
      gauge_(parts_.most == 0 ? default_memory_limit() : parts_.most),
      statm_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

MemoryWatch::~MemoryWatch() {
    if (trimmer_.joinable()) trimmer_.join();
    if (statm_ >= 0) close(statm_);
}

MemoryGauge::Reading MemoryWatch::reading() const {
    std::array<char, 128> room;
    const ssize_t got = statm_ < 0 ? -1 : pread(statm_, room.data(), room.size(), 0);
    if (got <= 0) return {};
    const std::string_view text(room.data(), static_cast<std::size_t>(got));  // in pages: total, resident, …
    const std::string_view rest = text.substr(text.find(' ') + 1);
    return {parse_number(rest.substr(0, rest.find(' '))).value_or(0) * page_bytes(), parts_.kept()};
}

void MemoryWatch::advance(Instant now) {
    if (now < read_again_) return;
    read_again_ = now + read_every;
    const auto read = reading();
    if (trimming_ && trimmed_) {
        trimming_ = false;
        gauge_.trimmed(read);
    }
    gauge_.read(read, now);
    if (gauge_.full() != full_) {
        full_ = gauge_.full();
        parts_.on_full(full_);
    }
    if (!trimming_ && gauge_.wants_trim(now)) trim();
    next_due_ = trimming_ ? now + 1s : gauge_.next_due(now);
}

void MemoryWatch::trim() {
    if (trimmer_.joinable()) trimmer_.join();  // it has finished
    trimming_ = true;
    trimmed_ = false;
    trimmer_ = std::thread([this] {
        malloc_trim(0);
        trimmed_ = true;
    });
}

}  // namespace holdfast::server
