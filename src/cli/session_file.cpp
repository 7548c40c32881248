#include "cli/session_file.h"

#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <set>
#include <sys/stat.h>

#include "cli/table.h"
#include "client/sessions/instance_id.h"

namespace holdfast::cli {
namespace {

constexpr std::size_t max_sessions = 100'000;
constexpr Duration check_every = 200ms;
constexpr Duration stable_before_reading = 1s;
constexpr const char* blanks = " \t\r";

Error malformed_line(const std::string& path, std::size_t line, const std::string& what) {
    return {Code::invalid_argument, fmt::format("{}:{}: {}", path == "-" ? "standard input" : path, line, what)};
}

Error unreadable(const std::string& path) {
    return {Code::invalid_argument, fmt::format("cannot read {}: {}", path, std::strerror(errno))};
}

Result<std::vector<std::string>> read(std::istream& input, const std::string& path, bool any_id) {
    std::set<std::string> seen;
    std::vector<std::string> sessions;
    std::string line;
    for (std::size_t number = 1; std::getline(input, line); ++number) {
        line.erase(0, std::min(line.find_first_not_of(blanks), line.size()));
        line.erase(line.find_last_not_of(blanks) + 1);
        if (line.empty() || line.starts_with('#')) continue;
        if (!(any_id ? client::sessions::is_plain_session_id(line) : client::sessions::is_uuid(line)))
            return malformed_line(path, number,
                                  fmt::format("'{}' is not {}", printable(line.substr(0, 64)),
                                              any_id ? "a session id" : "a UUID; --any-id allows other session ids"));
        if (!seen.insert(line).second) continue;
        if (sessions.size() == max_sessions)
            return malformed_line(path, number, fmt::format("there are more than {} sessions", max_sessions));
        sessions.push_back(line);
    }
    if (input.bad()) return unreadable(path);
    return sessions;
}

}  // namespace

std::optional<SessionFile::Mark> SessionFile::mark() const {
    struct stat status {};
    if (::stat(path_.c_str(), &status) != 0) return std::nullopt;
    return Mark{static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
                static_cast<std::int64_t>(status.st_size),
                std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

void SessionFile::remember() {
    known_ = seen_ = mark();
}

bool SessionFile::has_changed(HolderInstant now) {
    if (path_ == "-" || now < next_check_) return false;
    next_check_ = now + check_every;
    const auto found = mark();
    if (!found) return false;
    if (found != seen_) {
        seen_ = found;
        seen_since_ = now;
    }
    if (seen_ == known_ || now < seen_since_ + stable_before_reading) return false;
    known_ = seen_;
    return true;
}

Result<std::vector<std::string>> read_sessions(const std::string& path, bool any_id) {
    if (path == "-") return read(std::cin, path, any_id);
    std::ifstream file{path};
    if (!file) return unreadable(path);
    return read(file, path, any_id);
}

}  // namespace holdfast::cli
