#include "server/store_memory_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/clock.h"
#include "base/encodings.h"
#include "base/fd.h"
#include "base/hash.h"
#include "statefile/state_dir.h"

namespace holdfast::server {
namespace {

constexpr std::size_t max_bytes = 4096;

std::string because(const std::string& what) {
    return what + ": " + std::strerror(errno);
}

/// Empty on success, else the reason of the failure.
std::string replace(const std::string& path, const std::string& text) {
    const std::string draft = path + "." + std::to_string(::getpid());
    {
        const Fd file = open_file(draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
        if (!file) return because("cannot create " + draft);
        if (!write_all(file.get(), text) || ::fsync(file.get()) != 0) return because("cannot write " + draft);
    }
    if (::rename(draft.c_str(), path.c_str()) != 0) return because("cannot replace " + path);
    return {};
}

}  // namespace

Result<std::string> StoreMemoryFile::path_in(const std::string& directory, const std::string& store) {
    std::error_code failed;
    const auto whole = std::filesystem::absolute(directory, failed).lexically_normal();
    if (!failed) std::filesystem::create_directories(whole.parent_path(), failed);
    if (failed || (::mkdir(whole.c_str(), 0700) != 0 && errno != EEXIST))
        return Error{Code::state_unusable,
                     fmt::format("cannot create {}: {}; choose a directory you can write with --state-dir",
                                 whole.string(), failed ? failed.message() : std::string(std::strerror(errno)))};
    const std::uint64_t hash = hash_text({}, store);
    return (whole / ("store-" + to_hex({reinterpret_cast<const char*>(&hash), sizeof hash}))).string();
}

StoreMemoryFile::StoreMemoryFile(std::string path, std::function<void(const std::string& why)> failed)
    : path_(std::move(path)), failed_(std::move(failed)), boot_(read_boot_clock().clock), thread_([this] { run(); }) {}

StoreMemoryFile::~StoreMemoryFile() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

Result<store::cas::FrontMemory> StoreMemoryFile::read() const {
    const Fd file = open_file(path_, O_RDONLY | O_NOFOLLOW);
    if (!file && errno == ENOENT) return store::cas::FrontMemory{};
    if (!file) return Error{Code::state_corrupt, because("cannot read " + path_)};
    std::string text(max_bytes, '\0');
    const ssize_t size = ::read(file.get(), text.data(), text.size());
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    auto memory = store::cas::parse_front_memory(text);
    if (!memory) return Error{Code::state_corrupt, path_ + " is damaged"};
    if (memory->boot != boot_) memory->clock.reset();
    memory->boot.clear();
    return std::move(*memory);
}

void StoreMemoryFile::write(const store::cas::FrontMemory& memory) {
    store::cas::FrontMemory named = memory;
    named.boot = boot_;
    {
        const std::lock_guard lock(mutex_);
        next_ = format(named);
    }
    changed_.notify_one();
}

void StoreMemoryFile::run() {
    bool failing = false;
    for (std::unique_lock lock(mutex_);;) {
        changed_.wait(lock, [this] { return next_ || stopping_; });
        if (!next_) return;
        const std::string text = *std::exchange(next_, std::nullopt);
        lock.unlock();
        const std::string why = replace(path_, text);
        if (!why.empty() && !failing) failed_(why);
        failing = !why.empty();
        lock.lock();
    }
}

}  // namespace holdfast::server
