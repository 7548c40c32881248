#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "discovery/protocol.h"
#include "net/door.h"

namespace holdfast::discovery::relay {

/// One connection to the relay's door: frames in, frames out. RelayProtocol interprets the messages.
class RelaySession final : public net::Connection {
 public:
    enum class Role : std::uint8_t {
        stranger,   ///< has not identified itself yet
        publisher,  ///< its control connection
        consumer,   ///< waits for a stream; its bytes belong to that stream
        leaving,    ///< was sent the reason, and only has to read it
    };
    class Owner {
     public:
        virtual ~Owner() = default;
        virtual void on_begin(RelaySession& session) = 0;
        /// Handles messages while the session's slice lasts. Returns true if there may be more.
        virtual bool on_messages(RelaySession& session) = 0;
        virtual void on_stop(RelaySession& session) = 0;
        virtual void on_closed(RelaySession& session) = 0;
    };

    RelaySession(net::Admitted admitted, Owner& owner, Duration write_timeout);

    /// The next received message; nullopt if it is incomplete. Error `malformed`.
    Result<std::optional<Message>> next_message();
    /// True if there may be another message.
    bool has_input() const { return !input().empty(); }
    /// The received bytes that are not part of a message.
    std::string take_input();
    void append(const Message& message) { append_frame(message, output()); }

    using Connection::finish;
    using Connection::is_slice_over;
    using Connection::now;
    using Connection::unsent;

    // Used by the door and the protocol.
    Role role = Role::stranger;
    std::uint16_t under_way = 0;   ///< unanswered updates
    bool knows_may_retry = false;  ///< an older publisher would treat the message as malformed
    Clock::time_point deadline = Clock::time_point::max();

    static constexpr std::uint16_t max_under_way = 64;

 private:
    void begin() override { owner_.on_begin(*this); }
    void stop() override { owner_.on_stop(*this); }
    bool run() override;
    bool wants_input() const override;
    void on_check(Clock::time_point time) override;
    void on_close(const std::string&) override { owner_.on_closed(*this); }

    Owner& owner_;
};

}  // namespace holdfast::discovery::relay
