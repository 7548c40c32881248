#include "client/agent/digest_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace holdfast {

namespace {

Error failed(const std::string& what, const std::string& path) {
    const int error = errno;
    return {"storage_failed", "cannot " + what + " " + path + ": " + std::strerror(error)};
}

Result<std::string> read_all(const File& file, const std::string& path) {
    struct stat about {};
    if (::fstat(file.get(), &about) != 0) return failed("look at", path);
    if (!S_ISREG(about.st_mode)) return Error{"digest_damaged", path + " is not a file"};
    if (static_cast<std::size_t>(about.st_size) > digest_bytes_max)
        return Error{"digest_damaged", path + " is too large for an agent's digest"};
    std::string text(static_cast<std::size_t>(about.st_size), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
        const ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return failed("read", path);
        if (got == 0) break;
        have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return text;
}

/// The new name is durable only with its directory.
Result<void> sync_directory_of(const std::string& path) {
    const auto parent = std::filesystem::path(path).parent_path();
    const std::string name = parent.empty() ? "." : parent.string();
    const File directory(name, O_RDONLY | O_DIRECTORY);
    if (!directory.is_open() || ::fsync(directory.get()) != 0) return failed("sync", name);
    return {};
}

}  // namespace

DigestFile::~DigestFile() {
    if (lock_ >= 0) ::close(lock_);
}

/// The lock is on a file of its own, which stays: the digest itself is replaced by every save.
Result<void> DigestFile::lock() {
    if (lock_ >= 0) return {};
    const std::string name = path_ + ".lock";
    const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return failed("open", name);
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
        lock_ = fd;
        return {};
    }
    const bool taken = errno == EWOULDBLOCK;
    const Error error = failed("lock", name);
    ::close(fd);
    if (!taken) return error;
    return Error{"digest_in_use", path_ + " is in use by another life of this agent, which is still there"};
}

Result<std::optional<Digest>> DigestFile::load() {
    if (path_.empty()) return std::optional<Digest>{};
    if (auto locked = lock(); !locked) return locked.error();
    const File file(path_, O_RDONLY | O_NONBLOCK);
    if (!file.is_open() && errno == ENOENT) return std::optional<Digest>{};
    if (!file.is_open()) return failed("open", path_);
    const auto text = read_all(file, path_);
    if (!text) return text.error();
    auto digest = parse_digest(*text);
    if (!digest) return Error{digest.error().code, path_ + ": " + digest.error().message};
    return std::optional<Digest>{std::move(*digest)};
}

Result<void> DigestFile::save(const Digest& digest) const {
    if (path_.empty()) return {};
    const std::string text = to_text(digest);
    if (text.size() > digest_bytes_max) return Error{"invalid_argument", "the digest of this agent would be too large"};
    const std::string fresh = path_ + ".new";
    {
        const File file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
        if (!file.is_open() || !write_all(file.get(), text) || ::fsync(file.get()) != 0) return failed("write", fresh);
    }
    if (::rename(fresh.c_str(), path_.c_str()) != 0) return failed("replace", path_);
    return sync_directory_of(path_);
}

}  // namespace holdfast
