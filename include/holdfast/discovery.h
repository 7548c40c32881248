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

/// One change of an advertisement or of its connection, as it is told to the program.
struct ServiceEvent {
    std::string event{};    ///< stable: `registered`, `lost`, `superseded`, …, as listed in docs/cli.md
    std::string service{};  ///< its name; empty if it is about the connection
    std::string code{};     ///< the relay's, if it gave one
    std::string message{};  ///< a sentence for people
    std::uint64_t token = 0;
    std::chrono::milliseconds retry_in{0};  ///< zero if nothing is to be tried again
};

struct AdvertiseOptions {
    /// Empty: the relay gives it a name that collides with none; see Publisher::name().
    std::string name{};
    /// HOST:PORT that those who ask for the service are connected to.
    std::string target{};
    /// HOST[:PORT] of the relay, or of several with commas between them: the next is used when one is lost. Empty:
    /// HOLDFAST_RELAY_SERVER, or 127.0.0.1:7403.
    std::string relay{};
    /// The file of the key. Empty: HOLDFAST_IDENTITY, or the user's own. Made if it is not there.
    std::string identity{};
    /// Zero: the relay's default, 30 s.
    std::chrono::milliseconds ttl{0};
    /// HOST:PORT where the service may be reached without the relay; shown to consumers. May be empty.
    std::string address{};
    std::vector<std::string> alpn{};
    std::vector<std::pair<std::string, std::string>> metadata{};
    /// At one time; more are refused.
    std::size_t streams_max = 1000;
    /// Called on a thread of its own, so a slow one holds up neither renewals nor streams. Of more than 1,000 events
    /// that wait for it the oldest are left out, and an event `events_dropped` tells how many. It may destroy the
    /// publisher. It must not throw: an exception ends the program.
    std::function<void(const ServiceEvent&)> on_event{};
};

class Published;

/// A service, advertised under a name while this object lives, and its streams (D1). Move-only; the destructor ends the
/// advertisement, then leaves streams two seconds to end by themselves and resets the rest.
///
/// It keeps one connection to the relay, renews its lease, and comes back by itself after a lost connection, a relay
/// that restarted, or a suspend. If another publisher of the same identity takes the name, this one stands by. All
/// functions may be called from any thread. One that was moved from advertises nothing, under no name.
class [[nodiscard]] HOLDFAST_API Publisher {
 public:
    /// Begins in the background; a relay that is away is waited for. A publisher, or what is wrong with the options or
    /// the identity.
    static Published advertise(AdvertiseOptions options);

    ~Publisher();
    Publisher(Publisher&&) noexcept;
    Publisher& operator=(Publisher&&) noexcept;

    /// True while the service is this publisher's. A local check: false on its own at the local deadline (T3).
    [[nodiscard]] bool held() const noexcept;
    /// As the relay has it; until it has answered, as it was asked for.
    std::string name() const;
    /// The id of the identity: 32 characters.
    const std::string& identity() const&;
    std::string identity() const&&;
    /// Under way now.
    std::size_t streams() const;

    struct HOLDFAST_INTERNAL Core;
    explicit Publisher(std::unique_ptr<Core> core);

 private:
    std::unique_ptr<Core> core_;
};

/// A publisher, or why not.
class [[nodiscard]] Published {
 public:
    Published(Publisher publisher) : content_(std::move(publisher)) {}
    Published(Failure failure) : content_(std::move(failure)) {}

    explicit operator bool() const { return content_.index() == 0; }

    /// REQUIRES: there is one. Of a temporary the publisher itself, so that no reference outlives it.
    Publisher& publisher() & { return std::get<Publisher>(content_); }
    const Publisher& publisher() const& { return std::get<Publisher>(content_); }
    Publisher publisher() && { return std::get<Publisher>(std::move(content_)); }
    const Publisher& publisher() const&& = delete;
    /// REQUIRES: there is none. Likewise.
    const Failure& failure() const& { return std::get<Failure>(content_); }
    Failure failure() && { return std::get<Failure>(std::move(content_)); }
    const Failure& failure() const&& = delete;

 private:
    std::variant<Publisher, Failure> content_;
};

/// A connection to a service, or why there is none: `unknown_service`, `not_connected`, `refused`, … of
/// docs/discovery.md, or `unreachable`.
struct [[nodiscard]] ServiceConnection {
    int fd = -1;  ///< a connected socket that blocks; the caller's to close
    Failure failure{};

    explicit operator bool() const { return fd >= 0; }
};

/// Asks a relay, HOST[:PORT], several, or empty as above, for a service by its name, and follows it to the relay that
/// it is at. What is then written to the socket goes to the service as it is, and what it says comes back: TLS with the
/// service itself works through it. `stop` breaks the wait off: `cancelled`, and no socket is left open.
HOLDFAST_API ServiceConnection connect_service(const std::string& relay, const std::string& name,
                                               std::chrono::milliseconds timeout = std::chrono::seconds{15},
                                               const std::stop_token& stop = {});

}  // namespace holdfast
