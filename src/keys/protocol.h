#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "keys/limits.h"
#include "lease/lease.h"

namespace holdfast::keys {

/// What controllers and drones say to each other (docs/keys.md), as values. protocol_json.h has their form on the wire.

/// A name that at most one backend serves at a time, unique by namespace and name (K1). A key is the lease on
/// `KEY:name`, held by a drone, with the backend's id as its session.
struct Key {
    std::string name_space{};  ///< never empty: `default` if none was given
    std::string name{};
    std::string tag{};

    bool operator==(const Key&) const = default;
    bool same_key(const Key& other) const { return name_space == other.name_space && name == other.name; }
};

inline constexpr std::string_view key_prefix = "KEY:";

/// The key with its name normalised like that of a resource. Error `invalid_argument` if a required part is empty, or a
/// part is too long or not plain text; `reserved_namespace` if the namespace begins with `~` or belongs to Redis
/// clients.
Result<Key> checked_key(Key key);

/// The full name of the key's resource.
std::string resource_of(const Key& key);
/// The key of a resource, without its tag; nullopt if the resource is not a key.
std::optional<Key> key_of(std::string_view full_name);
/// The name of a key's lease: `KEY:room#17`, or `@team/KEY:room#17` outside the default namespace.
std::string lease_of(const Key& key, lease::Token token);

/// True for a valid name of a drone, a backend or a pool: letters, digits, `-`, `_` and `.`, not starting with a dot.
/// Such a name is also a safe file name.
bool is_plain_name(std::string_view text, std::size_t max_bytes = limits::backend_id_bytes);

/// `HOST:PORT`, with brackets around an IPv6 address.
std::string address_of(const std::string& host, std::uint16_t port);

/// A backend's state. States only move forward (K5).
enum class BackendState : std::uint8_t {
    scheduled,  ///< its key is taken; its drone has not reported it yet
    loading,
    starting,
    waiting,  ///< running, but not ready yet
    ready,
    terminating,
    hard_terminating,
    terminated,
};
inline constexpr std::size_t backend_state_count = static_cast<std::size_t>(BackendState::terminated) + 1;
std::string_view to_string(BackendState state);
std::optional<BackendState> parse_backend_state(std::string_view text);

/// Why a backend ends or has ended.
enum class EndReason : std::uint8_t {
    exited,
    terminated,
    key_lost,
    drone_lost,
    start_timed_out,
    idle,
    lifetime,
    internal,
};
std::string_view to_string(EndReason reason);
std::optional<EndReason> parse_end_reason(std::string_view text);

/// How a drone detects that a backend is ready.
struct Readiness {
    enum class How : std::uint8_t { tcp, http, started };
    How how = How::tcp;
    std::string path{};  ///< for http
};

/// The process to start. The controller does not interpret it.
struct Spawn {
    std::string command{};
    std::vector<std::string> args{};
    std::map<std::string, std::string> env{};
    std::optional<std::string> cwd{};     ///< none: the drone's working directory
    std::optional<std::uint16_t> port{};  ///< none: a free one
    Readiness ready{};
    std::optional<std::chrono::seconds> max_idle{}, lifetime{};
    std::chrono::seconds start_timeout = 60s;

    /// The approximate size of the encoded message.
    std::size_t bytes() const;
};

// ---- drone to controller ----

/// A backend's state, as reported by its drone or inferred by the controller.
struct BackendProgress {
    BackendState state = BackendState::scheduled;
    std::optional<EndReason> reason{};
    std::optional<std::int64_t> exit_code{};
    std::string address{};  ///< HOST:PORT; empty if it has none yet
    std::string message{};  ///< why it ended, for people
    Duration state_for{};   ///< how long it had been in this state when the drone reported it
};

/// A drone's report about one of its backends.
struct BackendReport {
    std::string id;
    Key key{};
    lease::Token token = 0;
    BackendProgress progress{};
    Duration ttl{};
    std::optional<Duration> holds_for{};  ///< remaining time by the drone's clock; none: it does not hold the key
};

struct Heartbeat {
    std::string drone{};
    std::string life{};                        ///< the drone's incarnation: random, new with every start
    std::vector<std::string> earlier_lives{};  ///< incarnations of which no process is alive
    std::string pool{};
    std::size_t capacity = 0;
    std::string address{};  ///< the host of the backends
    bool draining = false;
    std::uint64_t clock_ms = 0;
    bool all = false;
    std::vector<BackendReport> backends{};
    std::optional<std::string> reassert_to{};  ///< the controller incarnation that the drone last heard from
};
struct HeartbeatAnswer {
    std::string controller{};  ///< the incarnation that answers
    bool send_all = false;
    bool drain = false;
    Duration heartbeat_in = limits::heartbeat_every;
    std::vector<std::string> reasserted{};
};

struct OrdersRequest {
    std::string drone{};
    std::string life{};
    std::uint64_t clock_ms = 0;
    std::string controller{};  ///< the controller whose orders are done; empty: this one
    std::vector<std::uint64_t> done{};
    Duration wait{};
    /// The connection of this request, as the server numbers them. Not sent.
    std::uint64_t connection = 0;
};

// ---- controller to drone ----

/// An instant of a drone's clock as it travels.
constexpr std::uint64_t clock_ms(HolderInstant instant) {
    return static_cast<std::uint64_t>(to_ms(instant.time_since_epoch()));
}

/// The deadlines of a key, on the drone's own clock (T4, K3).
struct KeyDeadlines {
    HolderInstant renew{};
    HolderInstant soft{};
    HolderInstant hard{};

    bool operator==(const KeyDeadlines&) const = default;
};

/// Start a backend under a key.
struct SpawnOrder {
    std::string backend{};
    Key key{};
    lease::Token token = 0;
    Duration ttl{};
    KeyDeadlines deadlines{};
    Spawn spawn{};
};

enum class Severity : std::uint8_t { soft, hard };
std::string_view to_string(Severity severity);

/// End a backend.
struct TerminateOrder {
    std::string backend{};
    Severity how = Severity::soft;
};

/// A malformed order, as a drone reads it: it is not carried out, but acknowledged so that it is not sent again.
struct UnclearOrder {
    std::string why{};
};

struct Order {
    std::uint64_t number = 0;
    std::variant<SpawnOrder, TerminateOrder, UnclearOrder> what{};
};
struct OrdersAnswer {
    std::string controller{};  ///< the incarnation that answers
    std::vector<Order> orders{};
};

}  // namespace holdfast::keys
