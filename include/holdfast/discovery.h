#pragma once

#include <holdfast/export.h>
#include <holdfast/outcome.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {

/// One change of an advertisement or of its connection, as reported to the program.
struct ServiceEvent {
    std::string event{};    ///< stable: `registered`, `lost`, `superseded`, …, as listed in docs/cli.md
    std::string service{};  ///< its name; empty if the event is about the connection
    std::string code{};     ///< the relay's error code, if it sent one
    std::string message{};  ///< a sentence for people
    std::uint64_t token = 0;
    std::chrono::milliseconds retry_in{0};  ///< zero if nothing is retried
};

struct AdvertiseOptions {
    /// Empty: the relay assigns a unique name; see Publisher::name().
    std::string name{};
    /// HOST:PORT that consumers of the service are connected to.
    std::string target{};
    /// HOST[:PORT] of the relay, or several separated by commas: when one is lost, the next is used. Empty:
    /// HOLDFAST_RELAY_SERVER, or 127.0.0.1:7403.
    std::string relay{};
    /// The file of the signing key. Empty: HOLDFAST_IDENTITY, or the user's default file. Created if it does not exist.
    std::string identity{};
    /// Zero: the relay's default, 30 s.
    std::chrono::milliseconds ttl{0};
    /// HOST:PORT at which the service can be reached without the relay; shown to consumers. May be empty.
    std::string address{};
    std::vector<std::string> alpn{};
    std::vector<std::pair<std::string, std::string>> metadata{};
    /// The limit on concurrent streams; more are refused.
    std::size_t streams_max = 1000;
    /// Called on its own thread, so a slow callback delays neither renewals nor streams. At most 1,000 events are
    /// queued: beyond that the oldest are dropped, and an event `events_dropped` reports how many. The callback may
    /// destroy the publisher. It must not throw: an exception ends the program.
    std::function<void(const ServiceEvent&)> on_event{};
};

class Published;

/// Advertises a service under a name while this object lives, and carries its streams (D1). Move-only; the destructor
/// ends the advertisement, gives streams two seconds to end by themselves, and resets the rest.
///
/// It keeps one connection to the relay, renews its lease, and recovers by itself from a lost connection, a restart of
/// the relay, or a suspend. If another publisher of the same identity takes the name, this one stands by. All functions
/// may be called from any thread. A moved-from publisher advertises nothing and has no name.
class [[nodiscard]] HOLDFAST_API Publisher {
 public:
    /// Starts in the background, and retries while the relay is unreachable. Returns a publisher, or the error in the
    /// options or the identity.
    static Published advertise(AdvertiseOptions options);

    ~Publisher();
    Publisher(Publisher&&) noexcept;
    Publisher& operator=(Publisher&&) noexcept;

    /// True while this publisher holds the service's lease. A local check: it turns false by itself at the local
    /// deadline (T3).
    [[nodiscard]] bool held() const noexcept;
    /// The name that the relay registered; before its first answer, the requested name.
    std::string name() const;
    /// The id of the identity: 32 characters.
    const std::string& identity() const&;
    std::string identity() const&&;
    /// The number of open streams.
    std::size_t streams() const;

    struct HOLDFAST_INTERNAL Core;
    explicit Publisher(std::unique_ptr<Core> core);

 private:
    std::unique_ptr<Core> core_;
};

/// A publisher, or the reason why there is none.
class [[nodiscard]] Published {
 public:
    Published(Publisher publisher) : content_(std::move(publisher)) {}
    Published(Failure failure) : content_(std::move(failure)) {}

    explicit operator bool() const { return content_.index() == 0; }

    /// REQUIRES: there is a publisher. On a temporary it returns the publisher by value, so that no reference dangles.
    Publisher& publisher() & { return std::get<Publisher>(content_); }
    const Publisher& publisher() const& { return std::get<Publisher>(content_); }
    Publisher publisher() && { return std::get<Publisher>(std::move(content_)); }
    const Publisher& publisher() const&& = delete;
    /// REQUIRES: there is no publisher. By value on a temporary, too.
    const Failure& failure() const& { return std::get<Failure>(content_); }
    Failure failure() && { return std::get<Failure>(std::move(content_)); }
    const Failure& failure() const&& = delete;

 private:
    std::variant<Publisher, Failure> content_;
};

/// A connection to a service, or the failure: `unknown_service`, `not_connected`, `refused`, … of docs/discovery.md, or
/// `unreachable`.
struct [[nodiscard]] ServiceConnection {
    int fd = -1;  ///< a connected, blocking socket; the caller closes it
    Failure failure{};

    explicit operator bool() const { return fd >= 0; }
};

/// Connects to a service by its name. `relay` has the form of AdvertiseOptions::relay; a redirect to the service's own
/// relay is followed. The socket carries bytes to and from the service unchanged, so TLS with the service itself works
/// through it. `stop` cancels the wait: the failure is `cancelled`, and no socket is left open.
HOLDFAST_API ServiceConnection connect_service(const std::string& relay, const std::string& name,
                                               std::chrono::milliseconds timeout = std::chrono::seconds{15},
                                               const std::stop_token& stop = {});

}  // namespace holdfast
