#include "doors/peer/cluster_secret.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::peer {
namespace {

/// Owns an fd.
struct File {
    explicit File(const std::string& path) : number(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~File() {
        if (number >= 0) ::close(number);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    int number;
};

Result<std::string> read_file(const std::string& path) {
    const std::string named = "the file of the cluster secret, " + path + ",";
    const File file(path);
    struct stat status {};
    if (file.number < 0 || ::fstat(file.number, &status) != 0)
        return Error{"no_secret", named + " cannot be opened: " + std::strerror(errno)};
    if (!S_ISREG(status.st_mode)) return Error{"no_secret", named + " is not a regular file"};
    if ((status.st_mode & (S_IRWXO | S_IWGRP)) != 0)
        return Error{"exposed_secret", named + " may be read or changed by others; run: chmod 600 " + path};
    std::string content;
    char piece[1024];
    while (content.size() <= max_secret_bytes) {
        const ssize_t took = ::read(file.number, piece, sizeof piece);
        if (took < 0 && errno == EINTR) continue;
        if (took < 0) return Error{"no_secret", named + " cannot be read: " + std::strerror(errno)};
        if (took == 0) break;
        content.append(piece, static_cast<std::size_t>(took));
    }
    return content;
}

Result<std::string> find_secret(const std::string& path) {
    if (!path.empty()) return read_file(path);
    if (const char* given = std::getenv("HOLDFAST_CLUSTER_SECRET")) return std::string(given);
    return Error{
        "no_secret",
        "a cluster needs a secret that all of its members know; name a file with --cluster-secret-file, or set "
        "HOLDFAST_CLUSTER_SECRET"};
}

}  // namespace

Result<std::string> read_cluster_secret(const std::string& path_or_empty) {
    auto secret = find_secret(path_or_empty);
    if (!secret) return secret;
    while (!secret->empty() && (secret->back() == '\n' || secret->back() == '\r'))
        secret->pop_back();
    if (secret->size() < secret_bytes_least)
        return Error{"short_secret", "the cluster secret has " + std::to_string(secret->size()) +
                                         " bytes and needs at least " + std::to_string(secret_bytes_least) +
                                         "; make one with: openssl rand -hex 32"};
    if (secret->size() > max_secret_bytes)
        return Error{"long_secret", "the cluster secret has more than " + std::to_string(max_secret_bytes) + " bytes"};
    return secret;
}

}  // namespace holdfast::peer
