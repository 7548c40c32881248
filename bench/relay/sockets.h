#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "discovery/identity/identity.h"
#include "discovery/protocol.h"

namespace holdfast::bench {

using Clock = std::chrono::steady_clock;

/// Says why on standard error, and ends the program.
[[noreturn]] void give_up(const std::string& why);

/// Connected to loopback, sending at once.
int connect_to(int port, bool blocking);
int listen_on_loopback(int& port);
void raise_open_files();

/// User and system time that a process has used.
double cpu_seconds_of(int pid);

/// A publisher's end of its control connection, without any waiting: what to send, and what has come.
class ControlEnd {
 public:
    explicit ControlEnd(int socket) : socket_(socket) {}
    int socket() const { return socket_; }

    /// Returns how many bytes that was.
    std::size_t send(const discovery::Message& message);
    /// Nothing if nothing whole has come. Gives up if the relay has ended the connection.
    std::optional<discovery::Message> receive();
    /// Waits for it.
    discovery::Message wait_for_message();
    std::size_t received() const { return received_; }

 private:
    bool fill(bool waits);

    int socket_;
    std::string input_;
    std::size_t received_ = 0;
};

/// Signs updates for one relay.
class Signer {
 public:
    Signer() : identity_(discovery::identity::Identity::generate()) {}

    void greeted(const discovery::RelayHello& hello) {
        hello_ = hello;
        at_ = Clock::now();
    }
    discovery::SignedUpdate sign(discovery::Update update);

 private:
    discovery::identity::Identity identity_;
    discovery::RelayHello hello_;
    Clock::time_point at_;
    std::uint64_t number_ = 0;
};

}  // namespace holdfast::bench
