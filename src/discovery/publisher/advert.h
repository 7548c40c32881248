#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "discovery/protocol.h"
#include "discovery/publisher/remedy.h"
#include "lease/holder_deadlines.h"

namespace holdfast::discovery::publisher {

/// A service to advertise.
struct Advertisement {
    std::string name{};  ///< empty: the relay generates one
    Duration ttl{};      ///< zero: the relay's default
    std::string address{};
    std::vector<std::string> alpn{};
    std::vector<std::pair<std::string, std::string>> metadata{};
};

/// Checks the limits that a relay would check, so that the advertisement fits into a message. Error `invalid_name`,
/// `invalid_alpn`, `invalid_metadata` or `invalid_argument`, as from a relay.
Result<void> check(const Advertisement& what);

/// A change of a publisher's connection or of one of its services; reported once per change.
enum class PublisherEventKind : std::uint8_t {
    connected,
    disconnected,
    registered,
    recovered,    ///< renewed after failed renewals
    lost,         ///< no longer held; it is being registered again
    superseded,   ///< another publisher of this identity has the name: standing by
    standing_by,  ///< another identity has the name
    taken_again,  ///< registered again after it was lost
    refused,      ///< by the relay, with its code; retried, slowly if the policy refused it
    gave_up,      ///< a retry cannot succeed without a change
    unregistered,
    unserved,  ///< a consumer was refused since the target is unreachable; reported once, until it is reachable again
};
const char* to_string(PublisherEventKind kind);  ///< `taken_again`

struct PublisherEvent {
    PublisherEventKind what = PublisherEventKind::connected;
    std::string service{};  ///< its name; empty for events of the connection
    ErrorCode code{};       ///< the relay's code, if it gave one
    std::string message{};  ///< for people
    std::uint64_t token = 0;
    Duration retry_in{};  ///< zero: no retry
};
using PublisherEvents = std::vector<PublisherEvent>;

/// The response timeout, after which the connection is considered dead.
inline constexpr Duration answer_timeout = 10s;

/// The state of one advertisement at its publisher: until when it is held by the publisher's own clock (T3), and which
/// request to send next. Pure: the time, the responses and the loss of the connection are inputs.
class Advert {
 public:
    explicit Advert(Advertisement what) : what_(std::move(what)) {}

    /// True if a request is to be sent now.
    bool wants_to_ask(HolderInstant now) const { return !pending_ && now >= due_; }
    /// The next request. The core fills in the relay, its time and the nonce. REQUIRES: wants_to_ask().
    Update ask(std::uint32_t number, HolderInstant now);
    void on_answer(const UpdateResponse& response, HolderInstant now, Random& random, PublisherEvents& events);

    /// The relay reports, unsolicited, that the lease with this token is gone.
    void on_withdrawn(const Withdrawn& withdrawn, HolderInstant now, Random& random, PublisherEvents& events);
    /// The relay reports that a refused request for this name may now succeed: retries at a random time within the
    /// given one.
    void on_may_retry(const MayRetry& may_retry, HolderInstant now, Random& random);
    /// A lease ends with its connection (R8).
    void on_connection_lost(HolderInstant now, PublisherEvents& events);
    /// Drops the lease if it has expired by this clock, for example after a suspend.
    void settle(HolderInstant now, PublisherEvents& events);

    /// Gives the service up: the next request is to unregister, if a lease is held.
    void stop(HolderInstant now);

    bool held(HolderInstant now) const { return lease_ && lease_->deadlines.held(now); }
    /// When held() becomes false.
    HolderInstant held_until() const { return lease_ ? lease_->deadlines.end() : HolderInstant::min(); }
    std::uint64_t token() const { return lease_ ? lease_->token : 0; }
    /// The name that the relay granted; the requested one if no lease is held.
    const std::string& name() const { return lease_ ? lease_->name : what_.name; }
    bool awaits(std::uint32_t number) const { return pending_ && pending_->number == number; }
    bool gave_up() const { return gave_up_; }
    /// Stopped: no lease is held and no request is pending.
    bool over() const { return stopping_ && !lease_ && !pending_; }
    /// True if the response is overdue, so the connection must be dead.
    bool unanswered(HolderInstant now) const { return pending_ && now >= pending_->sent_at + answer_timeout; }
    HolderInstant next_due() const;

 private:
    struct Held {
        std::string name;
        std::uint64_t token = 0;
        lease::HolderDeadlines deadlines{};
    };
    struct Pending {
        std::uint32_t number = 0;
        Action action = Action::enter;
        HolderInstant sent_at{};
    };

    void granted(const UpdateResponse& response, HolderInstant sent_at, HolderInstant now, Random& random,
                 PublisherEvents& events);
    void refused(const UpdateResponse& response, HolderInstant now, Random& random, PublisherEvents& events);
    void give_up(const UpdateResponse& response, HolderInstant now, PublisherEvents& events);
    void lose(const std::string& why, const ErrorCode& code, PublisherEvents& events);
    Duration retry(const Backoff& pace, Duration at_least, HolderInstant now, Random& random);
    Duration renew_again(HolderInstant now);
    void tell(PublisherEventKind what, const UpdateResponse& response, Duration retry_in, PublisherEvents& events);
    std::string label() const;

    const Advertisement what_;
    std::optional<Held> lease_;
    std::optional<Held> given_up_;  ///< a lease that is held but no longer served; to be unregistered
    std::optional<Pending> pending_;
    HolderInstant due_{};
    Duration renew_every_{};        ///< as last given by the relay
    std::uint64_t last_token_ = 0;  ///< tells a relay which lease was ours
    /// Set once this publisher has had the name, or has learned that another publisher of this identity has it. From
    /// then on it takes the name from nobody (D3); only a newly started publisher does.
    bool returning_ = false;
    bool was_held_ = false;
    bool in_trouble_ = false;  ///< a renewal has failed
    bool stopping_ = false;
    bool gave_up_ = false;
    int failures_ = 0;
    std::optional<ErrorCode> told_;  ///< the code of the last refusal that was reported
    std::string refused_as_;         ///< the name in the relay's last refusal
};

}  // namespace holdfast::discovery::publisher
