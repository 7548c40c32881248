#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "store/postgres/call.h"

struct pg_conn;

namespace holdfast::store::postgres {

/// What a server reports about itself when a connection is ready.
struct Hello {
    std::string history;  ///< the system identifier and the timeline
    std::string life;     ///< the history, and the start time of this server
    std::string version;
    std::uint64_t place = 0;  ///< position in its write-ahead log
    std::int64_t clock = 0;   ///< its clock, in nanoseconds since 1970
    Instant heard_at;         ///< when this was received
};

/// The server process at the other end of a connection. A pid may be reused, but not with the same start time.
struct Backend {
    std::int32_t pid = 0;  ///< 0: not known yet
    std::int64_t started = 0;
};

/// One connection to a server, used once. It connects, makes sure that the schema exists, prepares the statements,
/// proves by a probe write that it can write, and then carries groups of calls, in order and pipelined. It cannot be
/// reopened after it was closed.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
    /// Called from the loop, never inside a call, except on_closed() inside send() and close().
    class Owner {
     public:
        virtual ~Owner() = default;
        virtual void on_ready(Connection& connection) = 0;
        /// The server does not answer in time. The connection is no longer ready, and closes soon unless the owner
        /// closes it at once.
        virtual void on_stalled(Connection& connection) = 0;
        /// The group was committed, or nothing of it took effect.
        virtual void on_group(Connection& connection, Group group) = 0;
        virtual void on_notify(std::string_view payload) = 0;
        /// The outcome of the groups in `lost` is unknown.
        virtual void on_closed(Connection& connection, const std::string& why, std::vector<Group> lost) = 0;
    };
    struct Settings {
        std::vector<std::pair<std::string, std::string>> parameters;
        std::string schema;
        Duration connect_within;
        Duration answer_within;
        bool listens = false;
    };

    Connection(boost::asio::io_context& loop, Owner& owner, const Settings& settings);
    ~Connection();

    void start();
    /// REQUIRES: ready().
    void send(Group group);
    void close(std::string why);

    bool ready() const { return state_ == State::ready && !stalled_; }
    bool listens() const { return settings_.listens; }
    std::size_t under_way() const { return groups_.size(); }
    std::size_t bytes_under_way() const { return bytes_; }
    const Hello& hello() const { return hello_; }
    const Backend& backend() const { return backend_; }

 private:
    enum class State : std::uint8_t {
        idle,
        connecting,
        greeting,
        asking,
        migrating,
        preparing,
        proving,
        ready,
        closed
    };

    void connect();
    void poll_connecting();
    void wait_to_read();
    void wait_to_write();
    void on_readable();
    void flush();

    void ask(State state, const std::string& sql);
    void read_setup();
    void on_setup_answer();
    bool take_hello(pg_result& result);
    bool take_version(pg_result& result);

    bool add(const char* statement, const Params& params);
    void read_answers();
    void take_answer(pg_result* result);
    void end_group();
    void read_notices();
    void tick();
    bool is_late(Instant now) const;
    void fail();
    static void on_server_notice(void* self, const pg_result* notice);

    boost::asio::io_context& loop_;
    Owner& owner_;
    const Settings& settings_;
    boost::asio::posix::stream_descriptor socket_;
    boost::asio::steady_timer timer_;
    pg_conn* handle_ = nullptr;
    State state_ = State::idle;
    bool writing_ = false;
    bool migrated_ = false;
    bool stalled_ = false;
    bool unreplicated_ = false;  ///< a commit did not wait for its standby
    Instant heard_at_;           ///< or when a request was sent with none outstanding
    Instant give_up_at_;         ///< deadline for becoming ready
    std::shared_ptr<pg_result> answer_;
    std::string last_words_;  ///< the reason given by a server that ends the connection
    Hello hello_;
    Backend backend_;
    std::deque<Group> groups_;
    std::size_t bytes_ = 0;
};

/// Why a stalled connection is closed, if nothing else is known.
extern const char* const no_answer;

/// The first line of an error message from libpq. It never contains a password.
std::string first_line(const char* message);

}  // namespace holdfast::store::postgres
