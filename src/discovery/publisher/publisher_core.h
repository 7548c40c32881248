#pragma once

#include <variant>
#include <vector>

#include "discovery/identity/identity.h"
#include "discovery/publisher/advert.h"

namespace holdfast::discovery {

// What the core wants done, in this order.

/// on_connected() or on_disconnected() follows.
struct Connect {
    std::size_t relay = 0;  ///< its place among the relays
};
/// The connection, or the attempt at one, is given up; nothing follows.
struct Disconnect {};
struct Send {
    Message message;
};
/// Somebody wants the service. The shell opens a data connection, or says StreamRefused.
struct Serve {
    StreamOffer offer;
    std::size_t service = 0;  ///< its place among the advertisements
    std::size_t relay = 0;    ///< that has made the offer
};
using Effect = std::variant<Connect, Disconnect, Send, Serve, PublisherEvent>;

/// Everything a publisher decides: when to connect, what to sign, what to do about each answer, and what it may say it
/// holds. No I/O, no clock, no threads: what happens comes in, effects go out of step(). The shell is publisher_loop.h.
class PublisherCore {
 public:
    struct Settings {
        const Identity& identity;
        std::vector<Advertisement> services;
        std::uint64_t seed = 0;  ///< of jitter and of nonces: from the operating system, but for tests
        /// How many relays it may use: one at a time, and the next when that one is lost or does not answer.
        std::size_t relays = 1;
    };
    static constexpr std::size_t max_services = 1000;

    /// REQUIRES: max_services services at most.
    explicit PublisherCore(Settings settings);

    /// What is to be done now. To be called after every event, and at next_due().
    std::vector<Effect> step(HolderInstant now);
    HolderInstant next_due() const;

    void on_connected(HolderInstant now);
    void on_disconnected(const std::string& why, HolderInstant now);
    void on_message(const Message& message, HolderInstant now);

    /// Unregisters everything; nothing new is asked for.
    void stop(HolderInstant now);
    /// Stopped, and the relay was told or cannot be; or nothing is left that could be advertised.
    bool finished(HolderInstant now) const;
    /// Every advertisement was given up.
    bool gave_up() const;

    /// True while the service is this publisher's, by its own clock (T3) and on a connection that is there (R8).
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

    const Identity& identity_;
    std::vector<Advert> adverts_;
    Random random_;
    std::vector<Effect> effects_;
    PublisherEvents events_;

    Link link_ = Link::none;
    HolderInstant link_due_{};  ///< when to connect, or when the other end should have answered
    int failures_ = 0;          ///< to connect, one after the other
    const std::size_t relays_;
    std::size_t at_relay_ = 0;  ///< which is in use, or to be tried next
    std::uint32_t last_number_ = 0;

    std::uint64_t relay_ = 0;
    std::int64_t relay_ms_ = 0;  ///< its clock, at `relay_heard_at_`
    HolderInstant relay_heard_at_{};

    bool stopping_ = false;
    HolderInstant stop_until_{};
};

}  // namespace holdfast::discovery
