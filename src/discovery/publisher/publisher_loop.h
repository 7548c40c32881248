#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "client/server_address.h"
#include "discovery/identity/identity.h"
#include "discovery/publisher/advert.h"

namespace holdfast::discovery::publisher {

/// A service, and the local or nearby address that its consumers are connected to.
struct Served {
    Advertisement what;
    client::ServerAddress target;
};

/// The shell around PublisherCore: one connection to the relay, and one data connection per stream.
class PublisherLoop {
 public:
    struct Options {
        const identity::Identity& identity;
        std::vector<client::ServerAddress> relays;  ///< at least one; the next is used when one is lost
        std::vector<Served> services;               ///< each validated by check()
        std::size_t max_streams = 1000;
        std::function<void(const PublisherEvent&)> on_event;  ///< called on the thread of run()
        Duration streams_grace = 2s;  ///< how long streams may last after a stop before they are reset
    };
    explicit PublisherLoop(Options options);
    ~PublisherLoop();
    PublisherLoop(const PublisherLoop&) = delete;
    PublisherLoop& operator=(const PublisherLoop&) = delete;

    /// Runs until stop(), which unregisters everything and ends the streams; or until every advertisement was given up,
    /// and then returns false. Call it once.
    bool run();

    // Callable from any thread:
    void stop();
    /// True while this publisher holds the service, by its own clock (T3).
    bool held(std::size_t service) const;
    /// The name that the relay granted; the requested one before that.
    std::string name(std::size_t service) const;
    std::size_t streams() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::discovery::publisher
