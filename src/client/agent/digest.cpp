#include "client/agent/digest.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/json_fields.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace holdfast::client::agent {
namespace {

constexpr std::string_view format = "holdfast-agent ";
constexpr std::uint64_t version = 1;

Error damaged(std::string_view how) {
    return {Code::digest_damaged, fmt::format("the agent's digest {}; move it away to begin without it", how)};
}

/// Detects torn writes and flipped bits, not forgery.
std::string checksum(std::string_view text) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash_text({}, text), 16).ptr;
    return {digits.data(), end};
}

Result<Digest> read_body(std::string_view body) {
    const auto parsed = read_json_object(body, answer_limits);
    if (!parsed) return damaged("lacks something");
    JsonFields fields(*parsed);
    Digest digest{.id = fields.need_text("id"), .session = fields.need_text("session")};
    digest.epoch = fields.need_whole("epoch", 1, INT64_MAX);
    digest.priority = fields.signed_whole("priority", INT64_MAX);
    digest.checkpoint = fields.need_text("checkpoint");
    for (JsonFields& intent : fields.need_objects("pending"))
        digest.pending.push_back({intent.need_text("resource"), intent.need_text("predicate")});
    if (fields.mistake() || digest.id.empty()) return damaged("lacks something");
    return digest;
}

}  // namespace

Result<void> check_checkpoint(std::string_view checkpoint) {
    if (checkpoint.size() > max_checkpoint_bytes)
        return Error{Code::invalid_argument,
                     "a checkpoint has 64 KiB at most: keep the rest in a file and its name here"};
    if (!is_utf8(checkpoint)) return Error{Code::invalid_argument, "a checkpoint is UTF-8 text"};
    return {};
}

std::string to_text(const Digest& digest) {
    std::string body;
    JsonWriter json(body);
    json.open_object().field("id", digest.id).field("session", digest.session).field("epoch", digest.epoch);
    json.field("checkpoint", digest.checkpoint).key("pending").open_array();
    for (const auto& [resource, predicate] : digest.pending)
        json.open_object().field("resource", resource).field("predicate", predicate.text()).close_object();
    json.close_array();
    if (digest.priority) json.field("priority", *digest.priority);
    json.close_object();
    body += '\n';
    return fmt::format("{}{} {}\n{}", format, version, checksum(body), body);
}

Result<Digest> parse_digest(std::string_view text) {
    if (!text.starts_with(format)) return damaged("is not one");
    text.remove_prefix(format.size());
    const auto line_end = text.find('\n');
    const auto blank = text.find(' ');
    if (line_end == std::string_view::npos || blank >= line_end) return damaged("is not whole");
    const auto found = parse_number(text.substr(0, blank));
    if (!found) return damaged("is not one");
    if (*found != version)
        return Error{
            Code::digest_version,
            fmt::format("the agent's digest has version {}, and this program reads only version {}", *found, version)};
    const std::string_view body = text.substr(line_end + 1);
    if (text.substr(blank + 1, line_end - blank - 1) != checksum(body)) return damaged("is not whole");
    return read_body(body);
}

namespace {

Error failed(const std::string& what, const std::string& path) {
    const int error = errno;
    return {Code::storage_failed, fmt::format("cannot {} {}: {}", what, path, std::strerror(error))};
}

Result<std::string> read_all(const Fd& file, const std::string& path) {
    struct stat about {};
    if (::fstat(file.get(), &about) != 0) return failed("look at", path);
    if (!S_ISREG(about.st_mode)) return Error{Code::digest_damaged, path + " is not a file"};
    if (static_cast<std::size_t>(about.st_size) > max_digest_bytes)
        return Error{Code::digest_damaged, path + " is too large for an agent's digest"};
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

/// A rename is durable only once its directory is synced.
Result<void> sync_directory_of(const std::string& path) {
    const auto parent = std::filesystem::path(path).parent_path();
    const std::string name = parent.empty() ? "." : parent.string();
    const Fd directory = open_file(name, O_RDONLY | O_DIRECTORY);
    if (!directory || ::fsync(directory.get()) != 0) return failed("sync", name);
    return {};
}

}  // namespace

DigestFile::~DigestFile() {
    if (lock_ >= 0) ::close(lock_);
}

/// The lock is on a separate file that is never removed: every save replaces the digest itself.
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
    return Error{Code::digest_in_use, path_ + " is in use by another life of this agent, which is still there"};
}

Result<std::optional<Digest>> DigestFile::load() {
    if (path_.empty()) return std::optional<Digest>{};
    if (auto locked = lock(); !locked) return locked.error();
    const Fd file = open_file(path_, O_RDONLY | O_NONBLOCK);
    if (!file && errno == ENOENT) return std::optional<Digest>{};
    if (!file) return failed("open", path_);
    const auto text = read_all(file, path_);
    if (!text) return text.error();
    auto digest = parse_digest(*text);
    if (!digest) return Error{digest.error().code, fmt::format("{}: {}", path_, digest.error().message)};
    return std::optional<Digest>{std::move(*digest)};
}

Result<void> DigestFile::save(const Digest& digest) const {
    if (path_.empty()) return {};
    const std::string text = to_text(digest);
    if (text.size() > max_digest_bytes)
        return Error{Code::invalid_argument, "the digest of this agent would be too large"};
    const std::string fresh = path_ + ".new";
    {
        const Fd file = open_file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
        if (!file || !write_all(file.get(), text) || ::fsync(file.get()) != 0) return failed("write", fresh);
    }
    if (::rename(fresh.c_str(), path_.c_str()) != 0) return failed("replace", path_);
    return sync_directory_of(path_);
}

}  // namespace holdfast::client::agent
