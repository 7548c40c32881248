#pragma once

#include <set>

#include "discovery/publisher/scripted_relay.h"

namespace holdfast::discovery::publisher {

/// A publisher and its relay in virtual time, with the connection between them.
class PublisherWorld {
 public:
    PublisherWorld(const identity::Identity& identity, std::vector<Advertisement> services, ScriptedRelay& relay,
                   std::uint64_t seed = 1, std::size_t relays = 1)
        : core({identity, std::move(services), seed, relays}), relay_(relay) {}

    /// Does what is due, all messages arriving at once.
    void step(HolderInstant now) {
        for (int rounds = 0; rounds < 100; ++rounds) {
            const auto effects = core.step(now);
            if (effects.empty()) return;
            for (const Effect& effect : effects)
                std::visit([&](const auto& what) { carry_out(what, now); }, effect);
        }
    }
    /// Steps at each instant that the core names, up to this one.
    void run_until(HolderInstant end) {
        while (clock < end) {
            step(clock);
            clock = std::max(std::min(core.next_due(), end), clock + 1ms);
        }
        step(clock);
    }
    void run_for(Duration duration) { run_until(clock + duration); }

    /// The connection is gone, and both ends know.
    void cut() {
        relay_.connection_closed(connection_);
        connection_ = 0;
        core.on_disconnected("cut", clock);
    }
    bool connected() const { return connection_ != 0; }

    std::vector<PublisherEventKind> happenings() const {
        std::vector<PublisherEventKind> all;
        for (const PublisherEvent& event : events)
            all.push_back(event.what);
        return all;
    }
    std::size_t count(PublisherEventKind what) const {
        return static_cast<std::size_t>(std::count_if(events.begin(), events.end(),
                                                      [&](const PublisherEvent& event) { return event.what == what; }));
    }

    HolderInstant clock{1000s};
    PublisherCore core;
    PublisherEvents events;
    std::vector<Serve> serves;
    std::vector<HolderInstant> connects;
    std::vector<std::size_t> tried;  ///< which relays
    std::set<std::size_t> away;      ///< of them
    std::vector<Message> sent;
    bool relay_is_there = true;
    bool relay_answers = true;

 private:
    void carry_out(const Connect& connect, HolderInstant now) {
        connects.push_back(now);
        tried.push_back(connect.relay);
        if (!relay_is_there || away.contains(connect.relay)) return core.on_disconnected("nobody there", now);
        static std::uint64_t connections = 0;
        connection_ = ++connections;
        core.on_connected(now);
    }
    void carry_out(const Disconnect&, HolderInstant) {
        relay_.connection_closed(connection_);
        connection_ = 0;
    }
    void carry_out(const Send& send, HolderInstant now) {
        sent.push_back(send.message);
        if (!relay_answers) return;
        if (std::holds_alternative<PublisherHello>(send.message)) core.on_message(relay_.hello(now), now);
        if (const auto* update = std::get_if<SignedUpdate>(&send.message))
            core.on_message(relay_.answer(*update, connection_, now), now);
    }
    void carry_out(const Serve& serve, HolderInstant) { serves.push_back(serve); }
    void carry_out(const PublisherEvent& event, HolderInstant) { events.push_back(event); }

    ScriptedRelay& relay_;
    std::uint64_t connection_ = 0;
};

}  // namespace holdfast::discovery::publisher
