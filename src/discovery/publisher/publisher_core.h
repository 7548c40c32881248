#pragma once

#include <variant>
#include <vector>

#include "discovery/identity/identity.h"
#include "discovery/publisher/advert.h"

namespace holdfast::discovery::publisher {

// Effects that the core requests, to be carried out in order.

/// Followed by on_connected() or on_disconnected().
struct Connect {
    std::size_t relay = 0;  ///< index of the relay
};
/// Drops the connection, or the attempt at one; no event follows.
struct Disconnect {};
struct Send {
    Message message;
};
/// A consumer wants the service. The shell opens a data connection or sends StreamRefused.
struct Serve {
    StreamOffer offer;
    std::size_t service = 0;  ///< index of the advertisement
    std::size_t relay = 0;    ///< index of the relay that made the offer
};
using Effect = std::variant<Connect, Disconnect, Send, Serve, PublisherEvent>;

/// All decisions of a publisher: when to connect, what to sign, how to react to each response, and what it may claim to
/// hold. No I/O, no clock, no threads: events come in, effects come out of step(). The shell is publisher_loop.h.
class PublisherCore {
 public:
    struct Settings {
        const identity::Identity& identity;
        std::vector<Advertisement> services;
        std::uint64_t seed = 0;  ///< for jitter and nonces: from the operating system, except in tests
        /// The number of relays. One is used at a time; the next one when it is lost or does not answer.
        std::size_t relays = 1;
    };
    static constexpr std::size_t max_services = 1000;

    /// REQUIRES: at most max_services services.
    explicit PublisherCore(Settings settings);

    /// The effects to carry out now. Call it after every event and at next_due().
    std::vector<Effect> step(HolderInstant now);
    HolderInstant next_due() const;

    void on_connected(HolderInstant now);
    void on_disconnected(const std::string& why, HolderInstant now);
    void on_message(const Message& message, HolderInstant now);

    /// Unregisters everything; registers and renews nothing from now on.
    void stop(HolderInstant now);
    /// Stopped, and the relay has answered or cannot be reached; or every advertisement was given up.
    bool finished(HolderInstant now) const;
    /// Every advertisement was given up.
    bool gave_up() const;

    /// True while this publisher holds the service, by its own clock (T3) and over a live connection (R8).
    bool held(std::size_t service, HolderInstant now) const { return adverts_[service].held(now); }
    const Advert& advert(std::size_t service) const { return adverts_[service]; }

 private:
    enum class Link : std::uint8_t { none, connecting, greeting, up };

    void drop(const std::string& why, HolderInstant now);
    void lost(const std::string& why, HolderInstant now);
    void greeted(const RelayHello& hello, HolderInstant now);
    void learn(std::uint64_t relay, std::int64_t time_ms, HolderInstant now);
    void heard(const UpdateResponse& response, HolderInstant now);
    void heard(const Withdrawn& withdrawn, HolderInstant now);
    void heard(const MayRetry& may_retry, HolderInstant now);
    void heard(const StreamOffer& offer, HolderInstant now);
    void ask(Advert& advert, HolderInstant now);
    std::int64_t relay_time_ms(HolderInstant now) const;

    const identity::Identity& identity_;
    std::vector<Advert> adverts_;
    Random random_;
    std::vector<Effect> effects_;
    PublisherEvents events_;

    Link link_ = Link::none;
    HolderInstant link_due_{};  ///< when to connect, or when a connection attempt or hello times out
    int failures_ = 0;          ///< consecutive connection failures
    const std::size_t relays_;
    std::size_t at_relay_ = 0;  ///< the one in use, or the next to try
    std::uint32_t last_number_ = 0;

    std::uint64_t relay_ = 0;
    std::int64_t relay_ms_ = 0;  ///< the relay's clock at `relay_heard_at_`
    HolderInstant relay_heard_at_{};

    bool stopping_ = false;
    HolderInstant stop_until_{};
};

}  // namespace holdfast::discovery::publisher
