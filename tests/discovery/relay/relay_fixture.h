#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "discovery/identity/identity.h"
#include "discovery/protocol.h"
#include "discovery/relay/relay_door.h"
#include "discovery/relay/test_sockets.h"

namespace holdfast::discovery::relay {

/// A relay's door with a real directory, authority and memory store behind it, on a loop and a thread of its own. Time
/// stands still until the test moves it; only the timeouts of connections and tickets run on the real clock.
class TestRelay {
 public:
    explicit TestRelay(RelayDoorOptions options = {});
    ~TestRelay();

    int port() const { return port_; }

    /// Runs on the loop's thread, and waits for it.
    void run(const std::function<void()>& function);
    /// Lets the loop run until this is true of what the door counts. Fails the test if it never is.
    void wait_until(const std::function<bool(const RelayDoor::Counts&)>& condition);
    RelayDoor::Counts counts();
    /// Called on the loop's thread whenever the door has done a turn, with how many services are connected then.
    void after_each_turn(std::function<void(std::size_t)> function);
    /// Stops the door as the server does; returns when it is done.
    void stop();
    /// As an admin does.
    void ban(const std::string& whom);
    std::size_t connected_services();
    std::size_t active_leases();

 private:
    struct Behind;
    std::unique_ptr<Behind> behind_;
    int port_ = 0;
};

/// A connection that speaks frames.
class TestFrames {
 public:
    explicit TestFrames(TestSocket socket) : socket_(std::move(socket)) {}

    void send(const Message& message);
    /// Nothing if the connection ends instead.
    std::optional<Message> receive();
    /// Fails the test if something else comes.
    template <class Kind>
    Kind expect() {
        const auto message = receive();
        if (message && std::holds_alternative<Kind>(*message)) return std::get<Kind>(*message);
        ADD_FAILURE() << "something else came: " << (message ? static_cast<int>(message->index()) : -1);
        return {};
    }
    TestSocket& socket() { return socket_; }

 private:
    TestSocket socket_;
};

/// A publisher with a key of its own.
class TestPublisher {
 public:
    explicit TestPublisher(TestRelay& relay);

    /// Registers a service; returns its token, or zero and the code in `refused`.
    std::uint64_t advertise(const std::string& name);
    UpdateResponse renew(const std::string& name, std::uint64_t token);
    SignedUpdate signed_update(Update update);
    StreamOffer offer() { return frames_.expect<StreamOffer>(); }
    /// Opens the data connection for an offer; fails the test if the relay does not want it.
    TestSocket accept(const StreamOffer& offer);
    TestFrames& frames() { return frames_; }
    const identity::Identity& identity() const { return identity_; }

 private:
    TestRelay& relay_;
    identity::Identity identity_ = identity::Identity::generate();
    TestFrames frames_;
    RelayHello hello_;
    std::uint64_t nonce_ = 0;
};

/// A connection that asks for a service.
TestFrames ask_for(TestRelay& relay, const std::string& name, std::string_view early = {});
/// A connection that would be the publisher's end of a stream.
TestFrames use_ticket(TestRelay& relay, const std::string& ticket);
/// The code of the refusal that comes; fails the test if none does.
std::string refusal(TestFrames& frames);

/// Both ends of a stream of the service.
struct OpenStream {
    TestSocket consumer, publisher;
};
OpenStream open_stream(TestRelay& relay, TestPublisher& publisher, const std::string& name);

}  // namespace holdfast::discovery::relay
