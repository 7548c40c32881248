#include "keys/drone/backend_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/stat.h>
#include <vector>

namespace holdfast::keys::drone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view log_extension = ".log";
constexpr std::size_t chunk = 64 * 1024;

}  // namespace

BackendLog::BackendLog(std::string path, std::size_t max_bytes) : path_(std::move(path)), max_bytes_(max_bytes) {
    open();
}

void BackendLog::open() {
    file_ = Fd{::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    struct stat status {};
    size_ = file_ && ::fstat(file_.get(), &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

void BackendLog::rotate() {
    file_.close();
    ::rename(path_.c_str(), (path_ + ".1").c_str());
    open();
}

void BackendLog::append(std::string_view text) {
    while (!text.empty()) {
        if (size_ >= max_bytes_) rotate();
        const std::string_view part = text.substr(0, std::min(text.size(), max_bytes_ - std::min(size_, max_bytes_)));
        const ssize_t written = file_ ? ::write(file_.get(), part.data(), part.size()) : -1;
        if (written <= 0) return;
        size_ += static_cast<std::size_t>(written);
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

void prune_logs(const std::string& directory, std::size_t keep, const std::set<std::string>& in_use) {
    std::vector<std::pair<fs::file_time_type, fs::path>> found;
    std::error_code failed;
    for (fs::directory_iterator at{directory, failed}, end; !failed && at != end; at.increment(failed)) {
        std::error_code unreadable;
        const fs::path& path = at->path();
        const auto time = at->last_write_time(unreadable);
        if (!unreadable && path.extension() == log_extension && !in_use.contains(path.stem().string()))
            found.emplace_back(time, path);
    }
    if (found.size() <= keep) return;
    std::sort(found.begin(), found.end());
    found.resize(found.size() - keep);
    for (const auto& [time, path] : found) {
        fs::remove(path, failed);
        fs::remove(path.string() + ".1", failed);
    }
}

LogPump::LogPump(Settings settings) : settings_(std::move(settings)), thread_([this] { run(); }) {}

LogPump::~LogPump() {
    stopping_ = true;
    wakeup_.notify();
    thread_.join();
}

void LogPump::add(const std::string& backend, Fd reading) {
    ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
    const std::lock_guard lock{mutex_};
    added_.emplace_back(backend, std::move(reading));
    wakeup_.notify();
}

void LogPump::run() {
    prune();
    while (!stopping_) {
        std::vector<pollfd> watched{{wakeup_.fd(), POLLIN, 0}};
        for (const Stream& stream : streams_)
            watched.push_back({stream.reading.get(), POLLIN, 0});
        ::poll(watched.data(), watched.size(), -1);
        const std::size_t before = streams_.size();
        for (std::size_t i = before; i-- > 0;)
            if (watched[i + 1].revents != 0 && !pump(streams_[i]))
                streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(i));
        if (streams_.size() != before) prune();
        take_new();
    }
    take_new();
    for (Stream& stream : streams_)
        pump(stream);
}

void LogPump::take_new() {
    std::vector<std::pair<std::string, Fd>> added;
    {
        const std::lock_guard lock{mutex_};
        wakeup_.drain();
        added.swap(added_);
    }
    for (auto& [backend, reading] : added)
        streams_.push_back({backend, std::move(reading),
                            BackendLog{settings_.directory + "/" + backend + ".log", settings_.max_bytes}});
}

/// Reads one chunk at a time, so that one backend cannot starve the others.
bool LogPump::pump(Stream& stream) const {
    std::array<char, chunk> buffer;
    const ssize_t length = ::read(stream.reading.get(), buffer.data(), buffer.size());
    if (length > 0) stream.log.append({buffer.data(), static_cast<std::size_t>(length)});
    return length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR));
}

void LogPump::prune() const {
    std::set<std::string> in_use;
    for (const Stream& stream : streams_)
        in_use.insert(stream.backend);
    prune_logs(settings_.directory, settings_.max_backends, in_use);
}

}  // namespace holdfast::keys::drone
