#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/resp/resp_command.h"
#include "doors/resp/door_parts.h"
#include "doors/resp/exchange.h"
#include "doors/resp/scan_cursors.h"
#include "doors/resp/scoped_leases.h"
#include "doors/resp/subscriptions.h"
#include "net/write_progress.h"

namespace holdfast {

/// What to do in place of a transaction, for errors.
inline constexpr std::string_view without_multi =
    "Send the commands without MULTI and EXEC (redis-py: pipeline(transaction=False))";

/// What a client has said of itself.
struct RespClient {
    std::string name;
    std::string library, library_version;
    resp::Protocol protocol = resp::Protocol::resp2;
    unsigned database = 0;        ///< as SELECT says
    bool in_transaction = false;  ///< since MULTI: nothing is executed
    ScanCursors cursors;
};

/// One client's connection: commands in, replies out in the order of the commands, though several may be under way.
/// Knows the socket and the order; what commands mean is the handlers' business.
///
/// In a turn of the door it first receives, then handles (resp_door.h). Lives as long as the door or an exchange under
/// way holds it.
class RespSession : public std::enable_shared_from_this<RespSession> {
 public:
    using Clock = std::chrono::steady_clock;
    /// Unread, answers included, before the connection is closed.
    static constexpr std::size_t max_pushes_bytes = 1024 * 1024;

    RespSession(int socket, std::shared_ptr<RespDoorParts> parts, std::string peer, std::uint64_t id);
    ~RespSession();
    RespSession(const RespSession&) = delete;
    RespSession& operator=(const RespSession&) = delete;

    // ---- for the door ----
    /// Takes what has come, without looking at it. `hung_up`: nothing can be sent any more.
    void receive(bool hung_up);
    /// Handles what was received, as far as there is room for answers, and sends.
    void handle();
    /// Closes if a deadline has passed.
    void check(Clock::time_point now);
    /// Ends as soon as nothing is under way.
    void stop();
    /// Tells why it is not served, and ends.
    void refuse_connection(std::string_view error);
    bool is_refused() const { return refused_; }
    void close();
    bool is_closed() const { return socket_ < 0; }
    /// The client has left, or was told to.
    bool is_gone() const { return left_; }
    int socket() const { return socket_; }
    /// The memory of its buffers.
    std::size_t held_bytes() const { return input_.capacity() + output_.capacity() + pushes_.capacity() + kept_bytes_; }
    bool is_woken = false;  ///< in the door's list of those to be handled

    // ---- for the commands ----
    RespClient& client() { return client_; }
    std::uint64_t id() const { return id_; }
    const std::string& peer() const { return peer_; }
    Clock::time_point since() const { return since_; }
    RespDoorParts& parts() { return *parts_; }
    Subscriptions& subscriptions() { return subscriptions_; }
    ScopedLeases& scoped() { return scoped_; }
    /// What comes before a Redis key in the name of its resource.
    std::string_view key_prefix();
    /// After the reply under way, and what is before it.
    void end_after_reply() { ending_ = true; }

    // ---- for the hub ----
    /// Told between two replies; closes the connection, later, if too much waits to be read.
    void push(std::string_view message);

 private:
    friend class Exchange;
    class Slot;

    bool has_room() const;
    bool wants_input() const;
    void make_room();
    void give_up_input();
    void handle_commands();
    resp::CommandReader::Outcome read_ahead();
    const RespCommand* find(std::string_view name);
    void dispatch(const RespCommand* command, std::span<const std::string_view> words);
    void answer_directly(const RespCommand& command, std::span<const std::string_view> words);
    void answer_behind_others(const RespCommand& command, std::span<const std::string_view> words);
    void append(Slot& slot);
    void finished(Slot& slot);
    void move_on();
    Slot& take_slot();
    void recycle(Slot& slot);
    void refuse_command(std::string_view code, std::string_view text);
    void send();
    void leave();
    void cancel_waits();
    void watch_closely();
    void watch_less();
    void show_progress(Duration every);
    void push_progress();
    void linger();
    void give_up_on_command();
    void look_for(Poller::Interest interest);
    std::size_t waiting_bytes() const { return output_.size() - sent_ + pushes_.size() + kept_bytes_; }

    int socket_;
    std::shared_ptr<RespDoorParts> parts_;
    std::string peer_;
    std::uint64_t id_;
    RespClient client_;
    Subscriptions subscriptions_;
    ScopedLeases scoped_;

    std::string input_;  // begin_ to end_ is what was received and not handled
    std::size_t begin_ = 0, end_ = 0;
    std::size_t read_to_ = 0;  // up to there it is in the batch of commands that are being handled
    resp::CommandReader reader_;
    std::string output_;  // from sent_ on it is to be sent
    std::size_t sent_ = 0;
    std::string pushes_;  // to go behind what is written now

    std::vector<std::unique_ptr<Slot>> slots_;
    Slot* spare_ = nullptr;
    Slot* first_ = nullptr;  // of those under way, in order
    Slot* last_ = nullptr;
    std::size_t under_way_ = 0;
    std::size_t kept_bytes_ = 0;  // of replies that are done and behind others that are not

    std::string last_word_;  // how the last command was called, which is often how the next one is
    const RespCommand* last_command_ = nullptr;

    std::string key_prefix_;
    unsigned prefixed_database_ = 0;

    Poller::Interest interest_;
    Clock::time_point since_, active_at_, linger_until_;
    WriteProgress writing_;
    std::optional<Clock::time_point> half_since_;  // there is a part of a command
    bool handling_ = false;
    bool ended_ = false;      // the peer's sending half
    bool ending_ = false;     // ours, once all is sent
    bool lingering_ = false;  // ours has ended
    bool broken_ = false;
    bool left_ = false;
    bool refused_ = false;
    Duration show_every_{};       // how often to show that something waits; zero: not
    Clock::time_point shown_at_;  // when it was shown last
    bool watched_ = false;        // closely, for the sake of what waits
    bool stopped_short_ = false;  // there are commands that were not looked at for want of room
};

}  // namespace holdfast
