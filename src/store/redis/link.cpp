#include "store/redis/link.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/code.h"
#include "base/text.h"

namespace holdfast::store::redis {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t chunk_bytes = 64 << 10;
constexpr std::size_t max_kept_bytes = 1 << 20;  // of a reused buffer

bool is_message(const codec::resp::Value& value) {
    return value.type == codec::resp::Value::Type::array && value.items.size() == 3 && value.items[0].text == "message";
}

}  // namespace

Error unavailable(std::string message) {
    return {Code::store_unavailable, std::move(message)};
}

Link::Link(Parts parts) : parts_(std::move(parts)), socket_(parts_.loop), timer_(parts_.loop) {}

void Link::open() {
    connecting_ = net::dial(parts_.loop, {parts_.address.host, parts_.address.port}, parts_.connect_within,
                            [self = shared_from_this()](Result<tcp::socket> socket) {
                                if (!socket) return self->lost(socket.error().message);
                                self->socket_ = std::move(*socket);
                                self->connected();
                            });
}

void Link::connected() {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    // Closing discards data that the kernel has not sent yet.
    socket_.set_option(boost::asio::socket_base::linger(true, 0), ignored);
    is_open_ = true;
    read();
    flush();
}

bool Link::is_full(std::size_t bytes) const {
    return closed_ || calls_ >= parts_.max_calls ||
           next_.bytes.size() + writing_bytes_ + bytes > parts_.max_unsent_bytes;
}

void Link::end(Command command) {
    command.bytes = static_cast<std::uint32_t>(next_.bytes.size() - next_.ended);
    next_.ended = next_.bytes.size();
    next_.commands.push_back(std::move(command));
    ++calls_;
    wake();
}

void Link::send(std::string_view command, Reply reply) {
    begin() += command;
    end({.reply = std::move(reply), .errors_are_answers = true});
}

void Link::wake() {
    if (flush_posted_ || closed_) return;
    flush_posted_ = true;
    boost::asio::post(parts_.loop, [self = shared_from_this()] {
        self->flush_posted_ = false;
        if (!self->closed_) self->flush();
    });
}

void Link::flush() {
    if (!is_open_ || writing_) return;
    if (parts_.before_sending) parts_.before_sending();
    if (next_.commands.empty()) return;
    Flight& flight = flights_.emplace_back();
    if (!spare_.empty()) {
        flight.batch = std::move(spare_.back());
        spare_.pop_back();
    }
    std::swap(flight.batch, next_);
    if (parts_.wait > 0) add_wait(flight.batch);
    write(flight);
}

/// One WAIT covers all earlier writes on this connection.
void Link::add_wait(Batch& batch) {
    if (std::ranges::none_of(batch.commands, &Command::confirmed)) return;
    const std::size_t before = batch.bytes.size();
    CommandWriter(batch.bytes, 3).add("WAIT").add(parts_.wait).add(to_ms_up(parts_.wait_within));
    batch.commands.push_back({.bytes = static_cast<std::uint32_t>(batch.bytes.size() - before)});
    ++calls_;
}

void Link::write(Flight& flight) {
    writing_ = true;
    writing_bytes_ = flight.batch.bytes.size();
    flight.sent_at = store_clock_now();
    if (!watching_) watch(parts_.answer_within);
    boost::asio::async_write(socket_, boost::asio::buffer(flight.batch.bytes),
                             [self = shared_from_this()](error_code error, std::size_t) {
                                 if (self->closed_) return;
                                 if (error) return self->lost(error.message());
                                 self->writing_ = false;
                                 self->writing_bytes_ = 0;
                                 self->drop_answered();
                                 self->flush();
                             });
}

void Link::read() {
    if (input_begin_ == input_end_) input_begin_ = input_end_ = 0;
    if (input_.size() - input_end_ < chunk_bytes) {
        input_.erase(0, input_begin_);
        input_end_ -= input_begin_;
        input_begin_ = 0;
        input_.resize(std::max(input_.size(), input_end_ + chunk_bytes));
    }
    socket_.async_read_some(boost::asio::buffer(input_.data() + input_end_, input_.size() - input_end_),
                            [self = shared_from_this()](error_code error, std::size_t bytes) {
                                if (self->closed_) return;
                                if (error == boost::asio::error::eof) return self->lost("it closed the connection");
                                if (error) return self->lost(error.message());
                                self->received(bytes);
                            });
}

void Link::received(std::size_t bytes) {
    input_end_ += bytes;
    if (take_values() && !closed_) read();
}

/// Returns false if the connection is gone.
bool Link::take_values() {
    while (!closed_) {
        const std::string_view input(input_.data() + input_begin_, input_end_ - input_begin_);
        switch (reader_.read(input)) {
            case codec::resp::ValueReader::Outcome::more:
                return true;
            case codec::resp::ValueReader::Outcome::malformed:
                lost("this is not the Redis protocol: " + std::string(reader_.error()));
                return false;
            case codec::resp::ValueReader::Outcome::value:
                break;
        }
        input_begin_ += reader_.size();
        answer(std::move(reader_.value()));
    }
    return false;
}

void Link::answer(codec::resp::Value value) {
    if (parts_.on_message && is_message(value)) return parts_.on_message(std::move(value));
    if (flights_.empty() || flights_.front().is_answered()) return lost("received a reply with no request outstanding");
    Flight& flight = flights_.front();
    Command command = std::move(flight.batch.commands[flight.answered]);
    const std::string_view sent = std::string_view(flight.batch.bytes).substr(flight.at, command.bytes);
    flight.at += command.bytes;
    asked_at_ = flight.sent_at;
    if (flight.answered++ == 0) {
        const Duration took = store_clock_now() - flight.sent_at;
        round_trip_ = round_trip_ == Duration{0} ? took : (round_trip_ * 7 + took) / 8;
    }
    --calls_;
    deliver(flight, std::move(command), sent, std::move(value));
    if (!closed_) drop_answered();
}

void Link::drop_answered() {
    if (flights_.empty() || !flights_.front().is_answered()) return;
    // If the reply arrived before the write completed, the kernel may still be reading from the newest flight.
    if (writing_ && flights_.size() == 1) return;
    Flight& flight = flights_.front();
    if (spare_.size() < 4 && flight.batch.bytes.capacity() <= max_kept_bytes) {
        flight.batch.clear();
        spare_.push_back(std::move(flight.batch));
    }
    flights_.pop_front();
}

void Link::deliver(Flight& flight, Command command, std::string_view sent, codec::resp::Value value) {
    if (!command.reply) return confirm(flight, value);
    if (value.is_error() && !command.errors_are_answers)
        return parts_.on_refused({std::move(command), sent, std::move(value.text)});
    if (command.confirmed && parts_.wait > 0) {
        flight.held.push_back({std::move(command.reply), std::move(value), sent});
        return;
    }
    asked_ = sent;
    command.reply(std::move(value));
}

void Link::confirm(Flight& flight, const codec::resp::Value& value) {
    if (value.type != codec::resp::Value::Type::integer && !value.is_error())
        return lost("it answers WAIT with no number");
    const bool enough = !value.is_error() && value.number >= static_cast<std::int64_t>(parts_.wait);
    auto held = std::move(flight.held);
    for (Held& one : held) {
        asked_ = closed_ ? std::string_view{} : one.sent;
        if (enough)
            one.reply(std::move(one.value));
        else
            one.reply(
                unavailable(fmt::format("too few replicas have confirmed the write in time: {} of {}; it has taken "
                                        "effect and may be lost if the master is",
                                        value.number, parts_.wait)));
    }
}

void Link::watch(Duration within) {
    watching_ = true;
    timer_.expires_after(within);
    timer_.async_wait([self = shared_from_this()](error_code cancelled) {
        if (!cancelled && !self->closed_) self->too_late();
    });
}

/// Replies arrive in order, so only the oldest flight can be late, and one timer serves all flights.
void Link::too_late() {
    watching_ = false;
    if (flights_.empty()) return;
    const Duration left = flights_.front().sent_at + parts_.answer_within - store_clock_now();
    if (left <= Duration{0}) return lost("no answer in " + format_duration(parts_.answer_within));
    watch(left);
}

void Link::lost(std::string_view why) {
    const Error error = unavailable(fmt::format("{}: {}", parts_.address.shown(), why));
    const auto self = shared_from_this();
    const auto told = std::move(parts_.on_lost);
    closed_ = true;
    if (told) told(error);
    fail_all(error);
}

void Link::close(const Error& why) {
    const auto self = shared_from_this();
    parts_.on_lost = nullptr;
    closed_ = true;
    fail_all(why);
}

void Link::fail_all(const Error& why) {
    net::cancel(connecting_);
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
    auto flights = std::move(flights_);
    Batch unsent = std::exchange(next_, {});
    flights_.clear();
    calls_ = 0;
    for (Flight& flight : flights) {
        for (Held& held : flight.held)
            held.reply(why);
        for (std::size_t i = flight.answered; i < flight.batch.commands.size(); ++i)
            if (flight.batch.commands[i].reply) flight.batch.commands[i].reply(why);
    }
    for (Command& command : unsent.commands)
        command.reply(why);
}

}  // namespace holdfast::store::redis
