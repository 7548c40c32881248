#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "discovery/protocol.h"
#include "net/poller.h"
#include "net/run_queue.h"
#include "net/transport.h"

namespace holdfast::discovery::relay {

class RelaySession;

/// Connections in deadline order. Within a list all timeouts are equal, so appending keeps the order: no timer and no
/// search are needed.
using DeadlineList = std::list<RelaySession*>;

/// One connection to the relay's door: frames in, frames out. Owns the socket and its buffers, which are freed when
/// empty. RelayProtocol interprets the messages, when the door runs the connection.
class RelaySession : public net::Runnable {
 public:
    using Time = std::chrono::steady_clock::time_point;
    /// What connections share.
    struct Shared {
        explicit Shared(net::Poller& poller_given) : poller(poller_given) {}
        net::Poller& poller;
        std::string buffer = std::string(64 * 1024, '\0');  ///< to receive into
        std::function<void(RelaySession&)> handle;
    };

    enum class Role : std::uint8_t {
        stranger,   ///< has not identified itself yet
        publisher,  ///< its control connection
        consumer,   ///< waits for a stream; its bytes belong to that stream
        leaving,    ///< was sent the reason, and only has to read it
    };

    RelaySession(int socket, std::uint64_t id, std::string peer, Shared& shared);
    RelaySession(const RelaySession&) = delete;
    RelaySession& operator=(const RelaySession&) = delete;

    std::uint64_t id() const { return id_; }
    const std::string& peer() const { return peer_; }
    int socket() const { return transport_.fd(); }
    bool is_open() const { return transport_.is_open(); }

    /// Receives the available bytes. `hung_up`: nothing can be sent any more.
    void receive(bool hung_up);
    void handle() { shared_.handle(*this); }
    /// The next received message; nullopt if it is incomplete. Error `malformed`.
    Result<std::optional<Message>> next_message();
    /// True if there may be another message.
    bool has_input() const { return begin_ < input_.size(); }
    /// The received bytes that are not part of a message.
    std::string take_input();

    void append(const Message& message) { append_frame(message, output_); }
    /// False if the connection is to be closed: it is broken, or does not read its answers.
    [[nodiscard]] bool send();
    std::size_t unsent() const { return output_.size() - sent_; }
    /// True if the peer has closed its sending side.
    bool has_ended() const { return ended_; }
    /// Registers with the poller for the events that this connection can use.
    void look_for_more();
    void end_sending();

    /// Transfers the socket to the caller.
    int release();
    void close();

    // Used by the door and the protocol.
    Role role = Role::stranger;
    std::uint16_t under_way = 0;   ///< unanswered updates
    bool knows_may_retry = false;  ///< an older publisher would treat the message as malformed
    bool is_departed = false;      ///< in the door's queue of connections to close
    Time deadline{};
    DeadlineList* listed_in = nullptr;
    DeadlineList::iterator listed_at{};

    static constexpr std::size_t max_early_bytes = 64 * 1024;
    static constexpr std::uint16_t max_under_way = 64;

 private:
    bool wants_input() const;
    void compact();

    net::Transport transport_;
    std::uint64_t id_;
    std::string peer_;
    Shared& shared_;
    std::string input_;  // from begin_ on
    std::size_t begin_ = 0;
    std::string output_;  // from sent_ on
    std::size_t sent_ = 0;
    net::Poller::Interest interest_;
    bool ended_ = false;
    bool broken_ = false;
};

}  // namespace holdfast::discovery::relay
