#include "keys/drone/log_pump.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

namespace holdfast::drone {
namespace {

constexpr std::size_t chunk = 64 * 1024;

}  // namespace

LogPump::LogPump(Settings settings)
    : settings_(std::move(settings)), bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { run(); }) {}

LogPump::~LogPump() {
    stopping_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(bell_.get(), &one, sizeof one);
    thread_.join();
}

void LogPump::add(const std::string& backend, Fd reading) {
    ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
    const std::lock_guard lock{mutex_};
    added_.emplace_back(backend, std::move(reading));
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(bell_.get(), &one, sizeof one);
}

void LogPump::run() {
    prune();
    while (!stopping_) {
        std::vector<pollfd> watched{{bell_.get(), POLLIN, 0}};
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
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t heard = ::read(bell_.get(), &count, sizeof count);
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

}  // namespace holdfast::drone
