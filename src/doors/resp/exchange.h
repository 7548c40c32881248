#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/time.h"
#include "codec/resp/resp_writer.h"

namespace holdfast::core {
class Authority;
}

namespace holdfast {

class RespSession;

/// One command and its reply.
///
/// A handler writes the reply and calls finish(), before it returns or later, once. Replies leave in the order of the
/// commands, whenever they are finished, so a command that waits does not let those behind it overtake. If the
/// connection goes away first, the exchange lives on until finish(), and what is written goes nowhere.
class Exchange {
 public:
    /// The command and its arguments, as views that are valid until the handler returns.
    std::span<const std::string_view> words() const { return words_; }

    resp::ReplyWriter reply();

    /// The reply is whole. The exchange must not be used after.
    void finish();

    /// The request waits under this ticket of the authority: it is cancelled if the connection goes away. 0: it does
    /// not wait. Every `progress` the client is shown that it does; zero: never.
    void waits(std::uint64_t ticket, Duration progress);

    /// True if the client's host is there, as far as the connection tells.
    bool reachable() const;

    /// Of a connection that went away: finish() is all that is left to do.
    bool gone() const;

    RespSession& session();
    core::Authority& authority();

 protected:
    Exchange() = default;
    ~Exchange() = default;

    std::span<const std::string_view> words_;
};

/// Replies that finish the exchange.
void ok(Exchange& exchange);
void fail(Exchange& exchange, std::string_view message);
void fail(Exchange& exchange, std::string_view code, std::string_view message);

/// Which words of a command name what it is about, so that the store can be told before its turn comes. 0: none.
struct Foresight {
    std::uint8_t resource = 0;
    std::uint8_t holder = 0;
    bool is_key = false;                  ///< the resource is a Redis key
    std::uint8_t max_holder_words = 255;  ///< with more words no lease of the holder begins or ends
};

/// How a command is called, and by whom it is answered.
struct RespCommand {
    std::string_view name;  ///< in capitals
    int arity = 0;          ///< words including the name; negative: at least so many, as COMMAND tells it
    void (*handler)(Exchange&) = nullptr;
    bool writes = false;                            ///< for COMMAND: changes something
    int first_key = 0, last_key = 0, key_step = 0;  ///< likewise
    std::string_view summary{};                     ///< for COMMAND DOCS
    Foresight foresight{};
};

/// The commands by kind; each kind has a file of its own.
std::span<const RespCommand> connection_commands();   ///< HELLO, PING, CLIENT, INFO, COMMAND, …
std::span<const RespCommand> lease_commands();        ///< LEASE.ACQUIRE, …
std::span<const RespCommand> event_commands();        ///< SUBSCRIBE, …
std::span<const RespCommand> key_commands();          ///< SET, GET, DEL, …: Redis's keys as leases
std::span<const RespCommand> script_commands();       ///< EVAL, EVALSHA, SCRIPT
std::span<const RespCommand> transaction_commands();  ///< MULTI, EXEC, …: refused, as a whole

}  // namespace holdfast
