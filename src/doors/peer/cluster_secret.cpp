#include "doors/peer/cluster_secret.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

namespace holdfast::doors::peer {
namespace {

Result<std::string> read_file(const std::string& path) {
    const std::string named = fmt::format("the file of the cluster secret, {},", path);
    const Fd file = open_file(path, O_RDONLY | O_NONBLOCK);
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0)
        return Error{Code::no_secret, fmt::format("{} cannot be opened: {}", named, std::strerror(errno))};
    if (!S_ISREG(status.st_mode)) return Error{Code::no_secret, named + " is not a regular file"};
    if ((status.st_mode & (S_IRWXO | S_IWGRP)) != 0)
        return Error{Code::exposed_secret,
                     fmt::format("{} may be read or changed by others; run: chmod 600 {}", named, path)};
    std::string content;
    char piece[1024];
    while (content.size() <= max_secret_bytes) {
        const ssize_t took = ::read(file.get(), piece, sizeof piece);
        if (took < 0 && errno == EINTR) continue;
        if (took < 0) return Error{Code::no_secret, fmt::format("{} cannot be read: {}", named, std::strerror(errno))};
        if (took == 0) break;
        content.append(piece, static_cast<std::size_t>(took));
    }
    return content;
}

Result<std::string> find_secret(const std::string& path) {
    if (!path.empty()) return read_file(path);
    if (const char* given = std::getenv("HOLDFAST_CLUSTER_SECRET")) return std::string(given);
    return Error{
        Code::no_secret,
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
        return Error{
            Code::short_secret,
            fmt::format("the cluster secret has {} bytes and needs at least {}; make one with: openssl rand -hex 32",
                        secret->size(), secret_bytes_least)};
    if (secret->size() > max_secret_bytes)
        return Error{Code::long_secret, fmt::format("the cluster secret has more than {} bytes", max_secret_bytes)};
    return secret;
}

}  // namespace holdfast::doors::peer
