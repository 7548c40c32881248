#pragma once

#include <holdfast/export.h>
#include <holdfast/lease.h>
#include <holdfast/outcome.h>
#include <holdfast/predicate.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {

/// One thing to do with one resource. A plain lock is MUTATES.
struct Intent {
    std::string resource{};
    PredicateName predicate = Predicate::mutates;
};

struct AcquireOptions {
    /// Zero: the server's default.
    std::chrono::milliseconds ttl{0};
    /// How long to wait for a turn; also spent on reconnecting and on recovery (S1).
    std::chrono::milliseconds wait{0};
    /// Shown to whoever is refused because of this lease.
    std::string reason{};
    /// A JSON object as text, or empty.
    std::string metadata{};
    /// Empty: `default`.
    std::string name_space{};
    /// Empty: a fresh one for each acquire, so that two threads of one program exclude each other.
    std::string session{};
    /// Renew in the background; false: the lease ends by itself at its deadline.
    bool keep = true;
    /// Breaks the call off: it gives up its place in the queue, releases whatever was granted meanwhile, and returns
    /// `cancelled`.
    std::stop_token stop{};
};

struct ClientOptions {
    /// Empty: HOLDFAST_SERVER, or http://127.0.0.1:7400. Several nodes of one cluster have commas between them: the
    /// next is asked when one fails.
    std::string server{};
    std::string holder{};                     ///< empty: host name, process id and a random part
    std::chrono::milliseconds timeout{5000};  ///< for one request and its answer, waiting for a turn not counted
    /// Which life of a registered agent asks; a life that is not the last one seen is refused. None: whichever it is.
    std::optional<std::uint64_t> epoch{};
};

/// A lease, or why not.
class [[nodiscard]] Acquired {
 public:
    Acquired(Lease lease) : content_(std::move(lease)) {}
    Acquired(Failure failure) : content_(std::move(failure)) {}

    explicit operator bool() const { return content_.index() == 0; }
    Outcome outcome() const { return *this ? Outcome::granted : failure().outcome; }

    /// REQUIRES: granted. Of a temporary the lease itself, so that no reference outlives it.
    Lease& lease() & { return std::get<Lease>(content_); }
    const Lease& lease() const& { return std::get<Lease>(content_); }
    Lease lease() && { return std::get<Lease>(std::move(content_)); }
    const Lease& lease() const&& = delete;
    /// REQUIRES: not granted. Likewise.
    const Failure& failure() const& { return std::get<Failure>(content_); }
    Failure failure() && { return std::get<Failure>(std::move(content_)); }
    const Failure& failure() const&& = delete;

 private:
    std::variant<Lease, Failure> content_;
};

/// A holder: asks a Holdfast server for leases and keeps them. Cheap to copy; copies share one keeper thread and its
/// connection. All functions may be called from any thread. Losing and regaining the connection costs nothing as long
/// as a renewal gets through in time. One that was moved from is refused everything.
class HOLDFAST_API Client {
 public:
    /// Throws std::system_error if the system has no thread or descriptor left. A server address that makes no sense
    /// is told by the first acquire: refused.
    explicit Client(ClientOptions options = {});

    /// Takes one resource, as a plain lock.
    Acquired acquire(std::string resource, const AcquireOptions& options = {});
    /// Takes all or nothing (G1).
    Acquired acquire(std::vector<Intent> intents, const AcquireOptions& options = {});

    const std::string& holder() const&;
    std::string holder() const&&;

    friend class Agent;
    struct HOLDFAST_INTERNAL Core;
    explicit Client(std::shared_ptr<Core> core);

 private:
    std::shared_ptr<Core> core_;
};

}  // namespace holdfast
