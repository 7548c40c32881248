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

namespace holdfast::postgres {

/// What a server says of itself when a connection is ready.
struct Hello {
    std::string history;  ///< the system identifier and the timeline
    std::string life;     ///< the history, and when this server was started
    std::string version;
    std::uint64_t place = 0;  ///< in its write-ahead log
    std::int64_t clock = 0;   ///< its time, in nanoseconds since 1970
    Instant heard_at;         ///< when it said so
};

/// The server's process at the other end of a connection. Numbers are used again; not with the same start.
struct Backend {
    std::int32_t pid = 0;  ///< 0: not known yet
    std::int64_t started = 0;
};

/// One connection to a server, from its start to its end: it connects, makes sure that the schema is there, prepares
/// the statements, shows by a write that it can do so, and then carries groups of calls, in order and pipelined. After
/// it was closed it is of no use.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
    /// Told from the loop, never from within a call, except on_closed() from within send() and close().
    class Owner {
     public:
        virtual ~Owner() = default;
        virtual void on_ready(Connection& connection) = 0;
        /// It does not answer in time. It is not ready any more, and is closed soon, unless that is done at once.
        virtual void on_stalled(Connection& connection) = 0;
        /// All of it was committed, or nothing of it took effect.
        virtual void on_group(Connection& connection, Group group) = 0;
        virtual void on_notify(std::string_view payload) = 0;
        /// Nobody knows what became of those groups.
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
    /// REQUIRES: it is ready.
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
    bool unreplicated_ = false;  ///< a commit has not waited for its standby
    Instant heard_at_;           ///< or when it was asked after all was answered
    Instant give_up_at_;         ///< unless it is ready by then
    std::shared_ptr<pg_result> answer_;
    std::string last_words_;  ///< of a server that ends the connection
    Hello hello_;
    Backend backend_;
    std::deque<Group> groups_;
    std::size_t bytes_ = 0;
};

/// Why a connection that stalled is closed, where nothing else is known.
extern const char* const no_answer;

/// The first line of what libpq says went wrong. It never contains a password.
std::string first_line(const char* message);

}  // namespace holdfast::postgres
