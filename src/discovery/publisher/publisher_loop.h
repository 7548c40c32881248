#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "client/server_address.h"
#include "discovery/identity/identity.h"
#include "discovery/publisher/advert.h"

namespace holdfast::discovery {

/// One service, and where on this machine or near it those who ask for it are connected to.
struct Served {
    Advertisement what;
    ServerAddress target;
};

/// The shell around PublisherCore: one connection to the relay, and a data connection for each stream.
class PublisherLoop {
 public:
    struct Options {
        const Identity& identity;
        std::vector<ServerAddress> relays;  ///< at least one; the next when one is lost
        std::vector<Served> services;       ///< each check()ed
        std::size_t max_streams = 1000;
        std::function<void(const PublisherEvent&)> on_event;  ///< in the thread of run()
        Duration streams_grace = 2s;  ///< for streams to end by themselves after a stop; then they are reset
    };
    explicit PublisherLoop(Options options);
    ~PublisherLoop();
    PublisherLoop(const PublisherLoop&) = delete;
    PublisherLoop& operator=(const PublisherLoop&) = delete;

    /// Until stop(), after which everything is unregistered and streams end, or until nothing is left to advertise:
    /// then false. Once.
    bool run();

    // From any thread:
    void stop();
    /// True while the service is this publisher's, by its own clock (T3).
    bool held(std::size_t service) const;
    /// As the relay has it; what was asked for until it has said.
    std::string name(std::size_t service) const;
    std::size_t streams() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::discovery
