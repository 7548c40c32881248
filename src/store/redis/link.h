#pragma once

#include <array>
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
#include "store/redis/scripts.h"

namespace holdfast::redis_engine {

using Reply = Callback<Result<resp::Value>>;

/// Of what could not be done: it has not been, or nobody knows.
Error unavailable(std::string message);

/// One connection to a Redis. Commands of one turn of the loop travel in one write and are answered in their order; a
/// `first` one goes before all others of its turn. If any is not answered in time the connection is given up, and so is
/// whatever is under way: unanswered. It is reset then rather than closed, so that what was not sent yet never is.
class Link : public std::enable_shared_from_this<Link> {
 public:
    enum class Lane : std::uint8_t { first, then };
    struct Command {
        Reply reply{};
        Script script = Script::none;
        bool confirmed = false;  ///< its answer is held back until the replicas that are waited for have it
        bool errors_are_answers = false;
        std::uint32_t bytes = 0;
    };
    /// A command that was answered with an error, and what was sent.
    struct Refused {
        Command command;
        std::string_view sent;
        std::string error;
    };
    struct Parts {
        boost::asio::io_context& loop;
        RedisAddress address;
        Duration connect_within;
        Duration answer_within;
        unsigned wait;
        Duration wait_within;
        std::size_t max_calls;
        std::size_t max_unsent_bytes;
        std::function<void()> before_sending;  ///< what is still to be sent with this turn may be added
        std::function<void(Refused)> on_refused;
        std::function<void(resp::Value)> on_message;  ///< of a subscription
        std::function<void(const Error&)> on_lost;    ///< once
    };

    explicit Link(Parts parts);

    /// Connects; the commands that were added meanwhile follow.
    void open();
    /// Everything is answered with the error, and nothing is told any more.
    void close(const Error& why);

    /// True if this is too much to take.
    bool is_full(std::size_t bytes) const;
    std::size_t calls() const { return calls_; }

    /// To be appended to, and then to be ended; nothing else may be added in between.
    std::string& begin(Lane lane) { return lanes_[static_cast<std::size_t>(lane)].bytes; }
    void end(Lane lane, Command command);
    /// A command for which an error is an answer like others.
    void send(std::string_view command, Reply reply);
    /// There is something for before_sending() to do.
    void wake();

    /// While an answer is being told: when it was asked for, and how.
    Instant asked_at() const { return asked_at_; }
    std::string_view asked() const { return asked_; }
    Duration round_trip() const { return round_trip_; }
    const RedisAddress& address() const { return parts_.address; }

 private:
    struct Batch {
        std::string bytes;
        std::size_t ended = 0;  // so many of them are commands below
        std::vector<Command> commands;

        void clear() {
            bytes.clear();
            ended = 0;
            commands.clear();
        }
    };
    struct Held {
        Reply reply;
        resp::Value value;
        std::string_view sent;
    };
    /// What was sent in one write.
    struct Flight {
        Batch batch;
        std::size_t answered = 0;  // commands
        std::size_t at = 0;        // bytes of them
        Instant sent_at;
        std::vector<Held> held;

        bool is_answered() const { return answered == batch.commands.size(); }
    };
    using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

    void resolve();
    void connect(Endpoints endpoints);
    void connected();
    void flush();
    void add_wait(Batch& batch);
    void write(Flight& flight);
    void read();
    void received(std::size_t bytes);
    bool take_values();
    void answer(resp::Value value);
    void deliver(Flight& flight, Command command, std::string_view sent, resp::Value value);
    void drop_answered();
    void confirm(Flight& flight, const resp::Value& value);
    void watch(Duration within);
    void too_late();
    void lost(std::string_view why);
    void fail_all(const Error& why);

    Parts parts_;
    boost::asio::ip::tcp::resolver resolver_;
    boost::asio::ip::tcp::socket socket_;
    boost::asio::steady_timer timer_;
    std::array<Batch, 2> lanes_;
    std::deque<Flight> flights_;
    std::size_t calls_ = 0;
    std::size_t writing_bytes_ = 0;
    bool is_open_ = false, closed_ = false, flush_posted_ = false, writing_ = false, watching_ = false;
    std::string input_;
    std::size_t input_begin_ = 0, input_end_ = 0;
    resp::ValueReader reader_;
    Instant asked_at_{};
    std::string_view asked_;
    Duration round_trip_{0};
    std::vector<Batch> spare_;
};

}  // namespace holdfast::redis_engine
