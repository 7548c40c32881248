#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "discovery/protocol.h"
#include "net/poller.h"

namespace holdfast::relay {

class RelaySession;

/// Connections in the order of their deadlines, which are all equally far off when they are set: no timer, and nothing
/// to search.
using DeadlineList = std::list<RelaySession*>;

/// One connection to the relay's door: frames in, frames out. Knows the socket and its buffers, which are given up when
/// there is nothing in them; what messages mean is the desk's business.
class RelaySession {
 public:
    using Time = std::chrono::steady_clock::time_point;

    enum class Role : std::uint8_t {
        stranger,   ///< has not said what it is
        publisher,  ///< its control connection
        consumer,   ///< waits for a stream; what it sends belongs to that
        leaving,    ///< was told why, and only has to read it
    };

    RelaySession(int socket, std::uint64_t id, std::string peer, Poller& poller);
    ~RelaySession();
    RelaySession(const RelaySession&) = delete;
    RelaySession& operator=(const RelaySession&) = delete;

    std::uint64_t id() const { return id_; }
    const std::string& peer() const { return peer_; }
    int socket() const { return socket_; }
    bool is_open() const { return socket_ >= 0; }

    /// Takes what has come, by way of a buffer that all share. `hung_up`: nothing can be sent any more.
    void receive(std::string& buffer, bool hung_up);
    /// The next message of those received; nothing if it is not complete. Error `malformed`.
    Result<std::optional<discovery::Message>> next_message();
    /// True if there may be another one.
    bool has_input() const { return begin_ < input_.size(); }
    /// What was received and is no message.
    std::string take_input();

    void append(const discovery::Message& message) { discovery::append_frame(message, output_); }
    /// False if the connection is to be closed: it is broken, or does not read its answers.
    [[nodiscard]] bool send();
    std::size_t unsent() const { return output_.size() - sent_; }
    /// True if the other side sends nothing more.
    bool has_ended() const { return ended_; }
    /// Asks the poller for what this connection can go on with.
    void look_for_more();
    void end_sending();

    /// The socket, which is the caller's from now on.
    int release();
    void close();

    // The door's and the desk's.
    Role role = Role::stranger;
    std::uint16_t under_way = 0;   ///< updates that are not answered
    bool knows_may_retry = false;  ///< an older publisher would take the message for nonsense
    bool is_woken = false;         ///< in the door's list of those that can go on
    bool is_in_line = false;       ///< likewise of those whose updates wait for their turn
    bool is_departed = false;      ///< in the door's list of those to be closed
    Time deadline{};
    DeadlineList* listed_in = nullptr;
    DeadlineList::iterator listed_at{};

    static constexpr std::size_t max_early_bytes = 64 * 1024;
    static constexpr std::uint16_t max_under_way = 64;

 private:
    bool wants_input() const;
    void compact();

    int socket_;
    std::uint64_t id_;
    std::string peer_;
    Poller& poller_;
    std::string input_;  // from begin_ on
    std::size_t begin_ = 0;
    std::string output_;  // from sent_ on
    std::size_t sent_ = 0;
    Poller::Interest interest_;
    bool ended_ = false;
    bool broken_ = false;
};

}  // namespace holdfast::relay
