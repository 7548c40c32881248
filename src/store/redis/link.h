#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "base/time.h"
#include "codec/resp/redis_address.h"
#include "codec/resp/resp_value.h"
#include "net/dial.h"
#include "store/redis/scripts.h"

namespace holdfast::store::redis {

using Reply = Callback<Result<codec::resp::Value>>;

/// Error `store_unavailable`: the operation was not done, or its outcome is unknown.
Error unavailable(std::string message);

/// One connection to a Redis. The commands of one turn of the loop are sent in one write and answered in order. If any
/// reply is late, the connection is given up, and everything
/// in flight fails with an unknown outcome. The connection is then reset rather than closed, so that unsent bytes are
/// never sent.
class Link : public std::enable_shared_from_this<Link> {
 public:
    struct Command {
        Reply reply{};
        Script script = Script::none;
        bool confirmed = false;  ///< the reply is held back until the required replicas have the write
        bool errors_are_answers = false;
        std::uint32_t bytes = 0;
    };
    /// A command that was answered with an error, and the bytes that were sent.
    struct Refused {
        Command command;
        std::string_view sent;
        std::string error;
    };
    struct Parts {
        boost::asio::io_context& loop;
        codec::resp::RedisAddress address;
        Duration connect_within;
        Duration answer_within;
        unsigned wait;
        Duration wait_within;
        std::size_t max_calls;
        std::size_t max_unsent_bytes;
        std::function<void()> before_sending;  ///< may add commands to this turn's write
        std::function<void(Refused)> on_refused;
        std::function<void(codec::resp::Value)> on_message;  ///< of a subscription
        std::function<void(const Error&)> on_lost;           ///< called once
    };

    explicit Link(Parts parts);

    /// Connects, then sends the commands added in the meantime.
    void open();
    /// Fails everything with this error. No callback runs afterwards.
    void close(const Error& why);

    /// True if the limits leave no room for these bytes.
    bool is_full(std::size_t bytes) const;
    std::size_t calls() const { return calls_; }

    /// Returns a buffer to append a command to; end() completes it. Nothing else may be added in between.
    std::string& begin() { return next_.bytes; }
    void end(Command command);
    /// Sends a command whose error reply is passed on like any other reply.
    void send(std::string_view command, Reply reply);
    /// Schedules a write, so that before_sending() is called.
    void wake();

    /// While a reply is being delivered: when its command was sent, and the command itself.
    Instant asked_at() const { return asked_at_; }
    std::string_view asked() const { return asked_; }
    Duration round_trip() const { return round_trip_; }
    const codec::resp::RedisAddress& address() const { return parts_.address; }

 private:
    struct Batch {
        std::string bytes;
        std::size_t ended = 0;  // bytes that belong to `commands`
        std::vector<Command> commands;

        void clear() {
            bytes.clear();
            ended = 0;
            commands.clear();
        }
    };
    struct Held {
        Reply reply;
        codec::resp::Value value;
        std::string_view sent;
    };
    /// The commands sent in one write.
    struct Flight {
        Batch batch;
        std::size_t answered = 0;  // commands
        std::size_t at = 0;        // their bytes
        Instant sent_at;
        std::vector<Held> held;

        bool is_answered() const { return answered == batch.commands.size(); }
    };

    void connected();
    void flush();
    void add_wait(Batch& batch);
    void write(Flight& flight);
    void read();
    void received(std::size_t bytes);
    bool take_values();
    void answer(codec::resp::Value value);
    void deliver(Flight& flight, Command command, std::string_view sent, codec::resp::Value value);
    void drop_answered();
    void confirm(Flight& flight, const codec::resp::Value& value);
    void watch(Duration within);
    void too_late();
    void lost(std::string_view why);
    void fail_all(const Error& why);

    Parts parts_;
    std::weak_ptr<net::Attempt> connecting_;
    boost::asio::ip::tcp::socket socket_;
    boost::asio::steady_timer timer_;
    Batch next_;
    std::deque<Flight> flights_;
    std::size_t calls_ = 0;
    std::size_t writing_bytes_ = 0;
    bool is_open_ = false, closed_ = false, flush_posted_ = false, writing_ = false, watching_ = false;
    std::string input_;
    std::size_t input_begin_ = 0, input_end_ = 0;
    codec::resp::ValueReader reader_;
    Instant asked_at_{};
    std::string_view asked_;
    Duration round_trip_{0};
    std::vector<Batch> spare_;
};

}  // namespace holdfast::store::redis
