#pragma once

#include <optional>

#include "discovery/protocol.h"
#include "discovery/publisher/publisher_event.h"
#include "discovery/publisher/remedy.h"

namespace holdfast::discovery {

/// What is to be advertised.
struct Advertisement {
    std::string name{};  ///< empty: the relay gives it one
    Duration ttl{};      ///< zero: the relay's default
    std::string address{};
    std::vector<std::string> alpn{};
    std::vector<std::pair<std::string, std::string>> metadata{};
};

/// Error `invalid_name`, `invalid_alpn`, `invalid_metadata` or `invalid_argument`, as a relay would say it: what is
/// over a limit, so that it would not even fit into a message.
Result<void> check(const Advertisement& what);

/// How long an answer may take before its connection is taken for dead.
inline constexpr Duration answer_timeout = 10s;

/// One advertisement as its publisher keeps it: until when it is held by the publisher's own clock (T3), and what to
/// say to the relay next. Pure: told the time, the answers and the loss of its connection.
class Advert {
 public:
    explicit Advert(Advertisement what) : what_(std::move(what)) {}

    /// True if something is to be said now.
    bool wants_to_ask(HolderInstant now) const { return !pending_ && now >= due_; }
    /// What that is; where it is for and when it is said is the core's to fill in. REQUIRES: wants_to_ask().
    Update ask(std::uint32_t number, HolderInstant now);
    void on_answer(const UpdateResponse& response, HolderInstant now, Random& random, PublisherEvents& events);

    /// The relay says by itself that the lease with this token is gone.
    void on_withdrawn(const Withdrawn& withdrawn, HolderInstant now, Random& random, PublisherEvents& events);
    /// The relay says that what it refused under this name may be granted now: asks again at random within that time.
    void on_may_retry(const MayRetry& may_retry, HolderInstant now, Random& random);
    /// A lease ends with its connection (R8).
    void on_connection_lost(HolderInstant now, PublisherEvents& events);
    /// Ends the lease if its time is over by this clock, as after a suspend.
    void settle(HolderInstant now, PublisherEvents& events);

    /// Gives it up: unregister is what it wants to say next, if there is anything to end.
    void stop(HolderInstant now);

    bool held(HolderInstant now) const { return lease_ && now < lease_->until; }
    /// When held() turns false.
    HolderInstant held_until() const { return lease_ ? lease_->until : HolderInstant::min(); }
    std::uint64_t token() const { return lease_ ? lease_->token : 0; }
    /// As the relay has it, if it does.
    const std::string& name() const { return lease_ ? lease_->name : what_.name; }
    bool awaits(std::uint32_t number) const { return pending_ && pending_->number == number; }
    bool gave_up() const { return gave_up_; }
    /// Nothing is held, and nothing is to be asked for any more.
    bool over() const { return stopping_ && !lease_ && !pending_; }
    /// True if an answer is so late that the connection must be dead.
    bool unanswered(HolderInstant now) const { return pending_ && now >= pending_->sent_at + answer_timeout; }
    HolderInstant next_due() const;

 private:
    struct Held {
        std::string name;
        std::uint64_t token = 0;
        HolderInstant until{};
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
    void lose(const std::string& why, const std::string& code, PublisherEvents& events);
    Duration retry(const Backoff& pace, Duration at_least, HolderInstant now, Random& random);
    Duration renew_again(HolderInstant now);
    void tell(PublisherEventKind what, const UpdateResponse& response, Duration retry_in, PublisherEvents& events);
    std::string label() const;

    const Advertisement what_;
    std::optional<Held> lease_;
    std::optional<Held> given_up_;  ///< held, and to be unregistered since it is not served any more
    std::optional<Pending> pending_;
    HolderInstant due_{};
    Duration renew_every_{};        ///< as the relay said last
    std::uint64_t last_token_ = 0;  ///< shows a relay which lease was ours
    /// Has had the name once, or was told that another publisher of this identity has it: from then on it takes the
    /// name from nobody (D3). Only a start does.
    bool returning_ = false;
    bool was_held_ = false;
    bool in_trouble_ = false;  ///< a renewal has failed
    bool stopping_ = false;
    bool gave_up_ = false;
    int failures_ = 0;
    std::string told_;        ///< the code of the refusal that was told last
    std::string refused_as_;  ///< the name of the last refusal, as the relay has it
};

}  // namespace holdfast::discovery
