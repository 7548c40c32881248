#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authority/authority.h"
#include "codec/resp/resp_command.h"
#include "doors/resp/command_batch.h"
#include "doors/resp/command_table.h"
#include "doors/resp/exchange.h"
#include "doors/resp/resp_door.h"
#include "doors/resp/scan_cursors.h"
#include "doors/resp/scoped_leases.h"
#include "doors/resp/subscriptions.h"
#include "net/door.h"
#include "redis/script_cache.h"

namespace holdfast::doors::resp {

/// The Redis version whose commands these are, for client libraries that check.
inline constexpr std::string_view redis_version = "7.0.15";

inline constexpr int databases = 16;  ///< namespaces of keys that SELECT can choose

/// Advice for error messages: what to do instead of a transaction.
inline constexpr std::string_view without_multi =
    "Send the commands without MULTI and EXEC (redis-py: pipeline(transaction=False))";

/// Per-connection state set by the client.
struct RespClient {
    std::string name;
    std::string library, library_version;
    codec::resp::Protocol protocol = codec::resp::Protocol::resp2;
    unsigned database = 0;        ///< chosen by SELECT
    bool in_transaction = false;  ///< after MULTI: nothing is executed
    ScanCursors cursors;
};

class RespSession;

/// State shared by the sessions of one door. Each session owns a reference, since it may outlive the door.
struct RespDoorParts {
    RespDoorParts(authority::Authority& authority_given, RespDoorOptions options_given)
        : authority(authority_given), options(std::move(options_given)), hub(authority_given) {}

    authority::Authority& authority;
    RespDoorOptions options;
    net::Door* door = nullptr;  ///< null once it is destroyed: the authority may be, too
    CommandTable commands;
    CommandBatch batch;  ///< of the session being handled
    SubscriberHub hub;
    redis::ScriptCache scripts;
    std::uint64_t commands_handled = 0;
    std::chrono::steady_clock::time_point started_at = std::chrono::steady_clock::now();
    std::string port;

    std::uint64_t same_value_sets = 0;
    std::chrono::steady_clock::time_point warn_again_at;  ///< next warning about same_value_sets

    /// Counts a lock refused for its own value, and warns at most once per minute.
    void note_same_value();
};

/// One client's connection: commands in, replies out in the order of the commands, though several may be under way.
/// Handles the order; the handlers interpret the commands. Owned by the door and by exchanges under way.
class RespSession final : public net::Connection {
 public:
    /// The limit of unread output, replies included, before the connection is closed.
    static constexpr std::size_t max_pushes_bytes = 1024 * 1024;

    RespSession(net::Admitted admitted, std::shared_ptr<RespDoorParts> parts);

    /// The client has left, or was disconnected.
    bool is_gone() const { return left_; }
    std::size_t held_bytes() const override { return Connection::held_bytes() + pushes_.capacity() + kept_bytes_; }

    // ---- for the commands ----
    RespClient& client() { return client_; }
    Duration age() const { return now() - since_; }
    RespDoorParts& parts() { return *parts_; }
    Subscriptions& subscriptions() { return subscriptions_; }
    ScopedLeases& scoped() { return scoped_; }
    /// The prefix of a Redis key in the name of its resource.
    std::string_view key_prefix();
    /// Ends the connection after the current reply and those before it.
    void end_after_reply() { ending_ = true; }

    // ---- for the hub ----
    /// Sends a message between two replies. Closes the connection, later, if too much output is unread.
    void push(std::string_view message);

 private:
    friend class Exchange;

    struct Step {
        Exchange* exchange;
        std::function<void()> run;
    };

    // ---- for the door and its turns ----
    void refuse() override;
    void stop() override;
    bool run() override;
    bool wants_input() const override { return !ending_ && !stopped_short_ && has_room(); }
    void on_check(Clock::time_point time) override;
    void on_close(const std::string& why) override;

    bool has_room() const;
    void handle_commands();
    void take_steps();
    codec::resp::CommandReader::Outcome read_ahead();
    const RespCommand* find(std::string_view name);
    void dispatch(const RespCommand* command, std::span<const std::string_view> words);
    void answer_directly(const RespCommand& command, std::span<const std::string_view> words);
    void answer_behind_others(const RespCommand& command, std::span<const std::string_view> words);
    void append(Exchange& exchange);
    void finished(Exchange& exchange);
    void move_on();
    Exchange& take_exchange();
    void recycle(Exchange& exchange);
    void refuse_command(std::string_view code, std::string_view text);
    void leave();
    void cancel_waits();
    void watch_closely();
    void watch_less();
    void show_progress(Duration every);
    void push_progress();
    void give_up_on_command();
    std::size_t waiting_bytes() const { return unsent() + pushes_.size() + kept_bytes_; }

    std::shared_ptr<RespDoorParts> parts_;
    RespClient client_;
    Subscriptions subscriptions_;
    ScopedLeases scoped_;

    codec::resp::CommandReader reader_;
    std::size_t read_bytes_ = 0;  // of the input: in the current batch
    std::string pushes_;          // sent after the reply being written

    std::vector<std::unique_ptr<Exchange>> exchanges_;
    Exchange* spare_ = nullptr;
    Exchange* first_ = nullptr;  // those under way, in order
    Exchange* last_ = nullptr;
    std::size_t under_way_ = 0;
    std::size_t kept_bytes_ = 0;  // of finished replies that wait for earlier ones

    std::string last_word_;  // name of the last command, often also of the next one
    const RespCommand* last_command_ = nullptr;

    std::string key_prefix_;
    unsigned prefixed_database_ = 0;

    Clock::time_point since_, active_at_;
    std::optional<Clock::time_point> half_since_;  // since when part of a command has arrived
    bool handling_ = false;
    bool ending_ = false;  // after the replies under way
    bool left_ = false;
    Duration show_every_{};       // interval of progress messages while a command waits; zero: none
    Clock::time_point shown_at_;  // when the last one was sent
    bool watched_ = false;        // the peer is watched closely, since a command waits
    bool stopped_short_ = false;  // some received commands were not handled for lack of room or time
    std::deque<Step> steps_;      // of commands that take long
};

}  // namespace holdfast::doors::resp
