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

/// A resource and what the holder does with it. A plain lock is MUTATES.
struct Intent {
    std::string resource{};
    PredicateName predicate = Predicate::mutates;
};

struct AcquireOptions {
    /// Zero: the server's default.
    std::chrono::milliseconds ttl{0};
    /// How long to wait for a turn. Reconnecting and the server's recovery (S1) count against it.
    std::chrono::milliseconds wait{0};
    /// Shown to requesters that are refused because of this lease.
    std::string reason{};
    /// A JSON object as text, or empty.
    std::string metadata{};
    /// Empty: `default`.
    std::string name_space{};
    /// Empty: a fresh one for each acquire, so that two threads of one program exclude each other.
    std::string session{};
    /// Renew in the background; false: the lease ends by itself at its deadline.
    bool keep = true;
    /// Cancels the call: it leaves the queue, releases anything granted meanwhile, and returns `cancelled`.
    std::stop_token stop{};
};

struct ClientOptions {
    /// Empty: HOLDFAST_SERVER, or http://127.0.0.1:7400. Several nodes of one cluster are separated by commas; when one
    /// fails, the client asks the next.
    std::string server{};
    std::string holder{};                     ///< empty: host name, process id and a random part
    std::chrono::milliseconds timeout{5000};  ///< for one request and its answer, without the wait for a turn
    /// The epoch of a registered agent. The server refuses any epoch but the latest one it has seen. None: requests
    /// carry no epoch and are not checked.
    std::optional<std::uint64_t> epoch{};
};

/// A lease, or the reason why there is none.
class [[nodiscard]] Acquired {
 public:
    Acquired(Lease lease) : content_(std::move(lease)) {}
    Acquired(Failure failure) : content_(std::move(failure)) {}

    explicit operator bool() const { return content_.index() == 0; }
    Outcome outcome() const { return *this ? Outcome::granted : failure().outcome; }

    /// REQUIRES: granted. On a temporary it returns the lease by value, so that no reference dangles.
    Lease& lease() & { return std::get<Lease>(content_); }
    const Lease& lease() const& { return std::get<Lease>(content_); }
    Lease lease() && { return std::get<Lease>(std::move(content_)); }
    const Lease& lease() const&& = delete;
    /// REQUIRES: not granted. By value on a temporary, too.
    const Failure& failure() const& { return std::get<Failure>(content_); }
    Failure failure() && { return std::get<Failure>(std::move(content_)); }
    const Failure& failure() const&& = delete;

 private:
    std::variant<Lease, Failure> content_;
};

/// A holder: asks a Holdfast server for leases and keeps them. Cheap to copy; copies share one keeper thread and its
/// connection. All functions may be called from any thread. A lost connection costs nothing as long as a renewal gets
/// through in time. A moved-from client is refused everything.
class HOLDFAST_API Client {
 public:
    /// Throws std::system_error if the system has no thread or fd left. A malformed server address is reported by the
    /// first acquire, as refused.
    explicit Client(ClientOptions options = {});

    /// Acquires one resource, as a plain lock.
    Acquired acquire(std::string resource, const AcquireOptions& options = {});
    /// Acquires all intents or none (G1).
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
