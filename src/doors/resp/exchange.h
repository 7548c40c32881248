#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "codec/resp/resp_writer.h"

namespace holdfast::authority {
class Authority;
}

namespace holdfast::doors::resp {

class RespSession;

/// One command and its reply.
///
/// A handler writes the reply and calls finish() exactly once, before it returns or later. Replies are sent in the
/// order of the commands, so later commands do not overtake one that waits. If the connection ends first, the exchange
/// stays valid until finish(), and its reply is discarded.
class Exchange {
 public:
    /// The command and its arguments, as views that are valid until the handler returns.
    std::span<const std::string_view> words() const { return words_; }

    codec::resp::ReplyWriter reply();

    /// Marks the reply as complete. The exchange must not be used afterwards.
    void finish();

    /// For a command that takes long: it does a part of its work, and `step` does more in a later slice of the session
    /// (run_queue.h). The commands behind it wait. If the connection ends first, the exchange is finished instead.
    void go_on(std::function<void()> step);

    /// The request waits under this ticket of the authority, and is cancelled if the connection ends. 0: it does not
    /// wait. While it waits, the client gets a progress message at the interval `progress`; zero: never.
    void waits(std::uint64_t ticket, Duration progress);

    /// True if the client's host is reachable, as far as the connection can tell.
    bool reachable() const;

    /// True if the connection has ended. Only finish() is left to call.
    bool gone() const;

    RespSession& session() { return session_; }
    authority::Authority& authority();

    // ---- for the session ----
    explicit Exchange(RespSession& session) : session_(session) {}
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

 private:
    friend class RespSession;

    void begin(std::span<const std::string_view> words, bool directly) {
        words_ = words;
        direct_ = directly;
        done_ = false;
        ticket_ = 0;
        next_ = nullptr;
    }

    RespSession& session_;
    std::shared_ptr<void> alive_;  // set while the exchange is under way after its handler returned
    std::span<const std::string_view> words_;
    std::string kept_;  // the reply, until its turn comes, unless it is written directly
    std::uint64_t ticket_ = 0;
    Exchange* next_ = nullptr;  // of those under way, or of the spare ones
    bool direct_ = false;       // the handler runs and no earlier command is under way: writes to the session's output
    bool done_ = false;
};

/// Replies that finish the exchange.
void ok(Exchange& exchange);
void fail(Exchange& exchange, std::string_view message);
void fail(Exchange& exchange, std::string_view code, std::string_view message);

/// Positions of the words that name a command's resource and holder, so that the store can prefetch them. 0: none.
struct Foresight {
    std::uint8_t resource = 0;
    std::uint8_t holder = 0;
    bool is_key = false;                  ///< the resource is a Redis key
    std::uint8_t max_holder_words = 255;  ///< with more words no lease of the holder begins or ends
};

/// A command's name, arity and handler.
struct RespCommand {
    std::string_view name;  ///< in capitals
    int arity = 0;          ///< words including the name; negative: a minimum, as in the reply of COMMAND
    void (*handler)(Exchange&) = nullptr;
    bool writes = false;                            ///< for COMMAND: changes something
    int first_key = 0, last_key = 0, key_step = 0;  ///< likewise
    std::string_view summary{};                     ///< for COMMAND DOCS
    Foresight foresight{};
};

/// The commands by kind; each kind has a file of its own.
std::span<const RespCommand> connection_commands();   ///< HELLO, PING, CLIENT, …
std::span<const RespCommand> server_commands();       ///< INFO, CONFIG, COMMAND, …
std::span<const RespCommand> lease_commands();        ///< LEASE.ACQUIRE, …
std::span<const RespCommand> event_commands();        ///< SUBSCRIBE, …
std::span<const RespCommand> key_commands();          ///< SET, GET, DEL, …: Redis's keys as leases
std::span<const RespCommand> scan_commands();         ///< KEYS, SCAN
std::span<const RespCommand> script_commands();       ///< EVAL, EVALSHA, SCRIPT
std::span<const RespCommand> transaction_commands();  ///< MULTI, EXEC, …: refused, as a whole

}  // namespace holdfast::doors::resp
