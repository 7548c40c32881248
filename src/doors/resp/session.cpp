#include "doors/resp/session.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

#include "authority/store_call.h"
#include "base/assert.h"
#include "doors/resp/exchange.h"
#include "doors/resp/lease_replies.h"
#include "doors/resp/redis_call.h"
#include "lease/manifest.h"
#include "net/peer_watch.h"

namespace holdfast::doors::resp {
namespace {

constexpr std::size_t max_answers_bytes = 256 * 1024;  // limit of unread replies before the next command is read
constexpr std::size_t max_under_way = 1024;
constexpr std::size_t commands_per_clock = 256;  // after which the clock is read again in a long turn
constexpr std::size_t max_input_bytes = codec::resp::max_command_bytes + Buffers::bytes;
constexpr std::size_t max_received_bytes = 64 * 1024;  // in one turn
constexpr std::size_t max_kept_bytes = 64 * 1024;      // memory that an exchange keeps for its next command
constexpr auto linger_for = 2s;

/// As in Redis, since a RESP2 client cannot tell a message from a reply.
bool allowed_while_subscribed(const RespCommand& command) {
    static constexpr std::array<std::string_view, 7> allowed{"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE",
                                                             "PING",      "QUIT",        "RESET"};
    return std::find(allowed.begin(), allowed.end(), command.name) != allowed.end();
}

/// As in Redis, where all others are queued.
bool allowed_in_transaction(const RespCommand& command) {
    static constexpr std::array<std::string_view, 6> allowed{"EXEC", "DISCARD", "MULTI", "WATCH", "QUIT", "RESET"};
    return std::find(allowed.begin(), allowed.end(), command.name) != allowed.end();
}

/// Allowed so that a client can connect and learn why nothing else is served.
bool needs_no_store(const RespCommand& command) {
    const auto is_one_of = [&](std::span<const RespCommand> some) {
        return std::any_of(some.begin(), some.end(), [&](const RespCommand& one) { return &one == &command; });
    };
    return is_one_of(connection_commands()) || is_one_of(server_commands());
}

/// The first word of a browser's HTTP request. A web page can put commands into the body of a POST, and needs no reply
/// to do harm.
bool is_of_a_web_page(std::string_view name) {
    return same_word(name, "POST") || same_word(name, "Host:");
}

}  // namespace

RespSession::RespSession(int socket, std::shared_ptr<RespDoorParts> parts, std::string peer, std::uint64_t id)
    : transport_(socket),
      parts_(std::move(parts)),
      peer_(std::move(peer)),
      id_(id),
      scoped_(parts_->authority),
      since_(parts_->turns.now()),
      active_at_(parts_->turns.now()) {}

// ---- input ----

bool RespSession::has_room() const {
    return under_way_ < max_under_way && waiting_bytes() < max_answers_bytes && steps_.empty();
}

bool RespSession::wants_input() const {
    return !ended_ && (lingering_ || (!ending_ && has_room()));
}

/// Makes room for at least one more byte of the arriving command.
void RespSession::make_room() {
    if (input_.empty()) input_ = parts_->buffers.take_input();
    if (begin_ == end_) begin_ = end_ = 0;
    if (end_ < input_.size() && input_.size() - begin_ >= std::min(reader_.wants(), max_input_bytes)) return;
    if (begin_ > 0) {
        std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
    }
    if (end_ < input_.size() && input_.size() >= reader_.wants()) return;
    input_.resize(std::min(std::max(input_.size() * 2, reader_.wants() + Buffers::bytes), max_input_bytes));
}

void RespSession::give_up_input() {
    begin_ = end_ = 0;
    parts_->buffers.give_back_input(input_);
}

void RespSession::receive(bool hung_up) {
    if (is_closed()) return;
    if (!wants_input()) {
        broken_ |= hung_up;
        return;
    }
    if (lingering_) begin_ = end_;
    if (stopped_short_ && !hung_up) return;  // there is enough to do
    make_room();
    const auto got = transport_.read_some({input_.data() + end_, std::min(input_.size() - end_, max_received_bytes)});
    end_ += got.bytes;
    if (got.bytes > 0) active_at_ = parts_->turns.now();
    ended_ |= got.ended;
    broken_ |= got.broken;
}

// ---- commands ----

void RespSession::handle() {
    if (is_closed()) return;
    if (broken_) return close();
    if (lingering_) {
        if (ended_) close();
        return;
    }
    take_steps();
    handle_commands();
    if (ended_) cancel_waits();  // the client has left
    if (ended_ && !stopped_short_ && !ending_) {
        ending_ = true;
        leave();
    }
    send();
}

void RespSession::handle_commands() {
    using Outcome = codec::resp::CommandReader::Outcome;
    handling_ = true;
    std::size_t handled = 0;
    auto outcome = Outcome::command;
    bool has_time = true;
    while (outcome == Outcome::command && begin_ < end_ && !ending_ && !broken_ && has_time && has_room()) {
        outcome = read_ahead();
        const CommandBatch& batch = parts_->batch;
        for (std::size_t i = 0; i < batch.size(); ++i)
            dispatch(batch.command(i), batch.words(i));
        begin_ = read_to_;
        if (handled / commands_per_clock != (handled + batch.size()) / commands_per_clock) parts_->turns.read_clock();
        handled += batch.size();
        has_time = begin_ == end_ || !parts_->turns.queue().is_slice_over();
    }
    if (outcome == Outcome::malformed && !ending_) {
        refuse_command("ERR Protocol error:", reader_.error());
        ending_ = true;
    }
    handling_ = false;
    stopped_short_ = !steps_.empty() || (begin_ < end_ && !ending_ && outcome == Outcome::command);
    if (outcome != Outcome::more)
        half_since_.reset();
    else if (!half_since_ || handled > 0)
        half_since_ = parts_->turns.now();
    parts_->commands_handled += handled;
    if (begin_ == end_ || ending_) give_up_input();
}

/// Continues commands that take long, in the order in which they asked for it.
void RespSession::take_steps() {
    if (steps_.empty()) return;
    handling_ = true;
    do {
        const Step step = std::move(steps_.front());
        steps_.pop_front();
        step.run();
    } while (!steps_.empty() && !parts_->turns.queue().is_slice_over());
    handling_ = false;
    move_on();
}

/// Reads commands to be handled together: those with a Foresight, and perhaps one other after them, so that the store
/// can prefetch the records of all of them.
codec::resp::CommandReader::Outcome RespSession::read_ahead() {
    using Outcome = codec::resp::CommandReader::Outcome;
    CommandBatch& batch = parts_->batch;
    batch.clear();
    read_to_ = begin_;
    auto outcome = Outcome::command;
    const std::size_t most = std::min(CommandBatch::max_commands, max_under_way - under_way_);
    for (bool foreseen = true; foreseen && batch.size() < most && read_to_ < end_;) {
        const bool is_array = input_[read_to_] == '*';
        outcome = reader_.read({input_.data() + read_to_, end_ - read_to_});
        if (outcome != Outcome::command) break;
        read_to_ += reader_.size();
        const auto words = reader_.words();
        if (words.empty()) continue;
        const RespCommand* command = find(words[0]);
        batch.add(command, words);
        // The words of an inline command are stored in the reader only until the next command is read.
        foreseen = is_array && command != nullptr && command->foresight.resource != 0;
    }
    if (batch.size() > 1 && parts_->options.not_yet() == nullptr)
        parts_->authority.single_record().expect(batch.expected(key_prefix()));
    return outcome;
}

std::string_view RespSession::key_prefix() {
    if (prefixed_database_ != client_.database || key_prefix_.empty()) {
        key_prefix_ = lease::full_name(redis_namespace(client_.database), "");
        prefixed_database_ = client_.database;
    }
    return key_prefix_;
}

const RespCommand* RespSession::find(std::string_view name) {
    if (last_command_ != nullptr && name == last_word_) return last_command_;
    const RespCommand* found = parts_->commands.find(name);
    if (found == nullptr) return nullptr;
    last_word_ = name;
    last_command_ = found;
    return found;
}

void RespSession::dispatch(const RespCommand* command, std::span<const std::string_view> words) {
    if (first_ != nullptr && first_->done_) move_on();
    if (command == nullptr && is_of_a_web_page(words[0])) {
        broken_ = true;
        return;
    }
    if (command == nullptr) return refuse_command("ERR", unknown_command(words));
    if (!takes(*command, words.size())) return refuse_command("ERR", wrong_arity(command->name));
    if (const Error* why = parts_->options.not_yet(); why != nullptr && !needs_no_store(*command))
        return refuse_command("STORE_UNAVAILABLE", with_retry(why->message, authority::storage_failure(*why).retry_in));
    if (client_.protocol == codec::resp::Protocol::resp2 && subscriptions_.size() > 0 &&
        !allowed_while_subscribed(*command))
        return refuse_command("ERR",
                              fmt::format("Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
                                          "RESET are allowed in this context",
                                          lower_case(command->name)));
    if (client_.in_transaction && !allowed_in_transaction(*command))
        return refuse_command("ERR", fmt::format("Holdfast has no transactions: '{}' was not executed. {}",
                                                 lower_case(command->name), without_multi));
    if (first_ == nullptr)
        answer_directly(*command, words);
    else
        answer_behind_others(*command, words);
}

void RespSession::answer_directly(const RespCommand& command, std::span<const std::string_view> words) {
    if (output_.capacity() < Buffers::bytes && output_.empty()) output_ = parts_->buffers.take_output();
    const std::size_t begin = output_.size();
    Exchange& exchange = take_exchange();
    exchange.begin(words, true);
    command.handler(exchange);
    if (exchange.done_) return recycle(exchange);
    exchange.words_ = {};
    exchange.direct_ = false;
    exchange.kept_.assign(output_, begin);
    output_.resize(begin);
    append(exchange);
}

void RespSession::answer_behind_others(const RespCommand& command, std::span<const std::string_view> words) {
    Exchange& exchange = take_exchange();
    exchange.begin(words, false);
    append(exchange);
    command.handler(exchange);
    if (!exchange.done_) exchange.words_ = {};
}

void RespSession::refuse_command(std::string_view code, std::string_view text) {
    if (first_ == nullptr) return codec::resp::ReplyWriter(output_, client_.protocol).error(code, text);
    Exchange& exchange = take_exchange();
    exchange.begin({}, false);
    append(exchange);
    codec::resp::ReplyWriter(exchange.kept_, client_.protocol).error(code, text);
    exchange.done_ = true;
    kept_bytes_ += exchange.kept_.size();
}

// ---- the order of replies ----

Exchange& RespSession::take_exchange() {
    if (spare_ == nullptr) {
        exchanges_.push_back(std::make_unique<Exchange>(*this));
        return *exchanges_.back();
    }
    return *std::exchange(spare_, spare_->next_);
}

void RespSession::recycle(Exchange& exchange) {
    exchange.kept_.clear();
    if (exchange.kept_.capacity() > max_kept_bytes) exchange.kept_.shrink_to_fit();
    exchange.ticket_ = 0;
    exchange.next_ = std::exchange(spare_, &exchange);
}

void RespSession::append(Exchange& exchange) {
    exchange.alive_ = shared_from_this();
    (last_ == nullptr ? first_ : last_->next_) = &exchange;
    last_ = &exchange;
    ++under_way_;
}

void RespSession::finished(Exchange& exchange) {
    HOLDFAST_ASSERT(!exchange.done_);
    exchange.done_ = true;
    exchange.ticket_ = 0;
    if (!exchange.direct_) kept_bytes_ += exchange.kept_.size();
    if (watched_) watch_less();
    if (exchange.direct_ || handling_) return;  // the session is handling commands and checks at once
    if (is_closed()) return move_on();
    wake();
}

/// Outputs finished replies in order, up to the first unfinished one.
void RespSession::move_on() {
    std::shared_ptr<RespSession> alive;  // the last exchange may be the only owner of this session
    while (first_ != nullptr && first_->done_) {
        Exchange& exchange = *first_;
        first_ = exchange.next_;
        if (first_ == nullptr) last_ = nullptr;
        --under_way_;
        kept_bytes_ -= exchange.kept_.size();
        if (!is_closed()) output_ += exchange.kept_;
        alive = std::move(exchange.alive_);
        recycle(exchange);
    }
}

// ---- output ----

void RespSession::push(std::string_view message) {
    if (is_gone() || broken_) return;
    pushes_ += message;
    if (waiting_bytes() > max_pushes_bytes) broken_ = true;
    if (!handling_) wake();
}

void RespSession::send() {
    move_on();
    output_ += pushes_;
    pushes_.clear();
    if (broken_) return close();
    if (!writing_.is_waiting()) writing_.begin(parts_->turns.now());
    const auto sent = transport_.write_some(std::string_view(output_).substr(sent_));
    if (sent.broken) return close();
    sent_ += sent.bytes;
    writing_.sent(sent_, parts_->turns.now());
    if (sent_ == output_.size()) {
        sent_ = 0;
        writing_.end();
        output_.clear();
        parts_->buffers.give_back_output(output_);
        if (ending_ && first_ == nullptr) return linger();
        if (stopped_short_ && has_room()) wake();
    }
    if (!steps_.empty()) wake();
    look_for({wants_input(), sent_ < output_.size()});
}

void RespSession::wake() {
    if (!is_closed()) parts_->turns.wake(*this);
}

void RespSession::look_for(net::Poller::Interest interest) {
    if (interest.input == interest_.input && interest.output == interest_.output) return;
    interest_ = interest;
    parts_->turns.poller().change(transport_.fd(), this, transport_.wants(interest));
}

// ---- the end ----

/// The client has left or is about to: releases its scoped leases and cancels its waits.
void RespSession::leave() {
    if (left_) return;
    left_ = true;
    parts_->hub.leave(*this);
    subscriptions_.clear();
    cancel_waits();
    scoped_.release_all();
}

/// Used as long as a command waits (peer_watch.h).
void RespSession::watch_closely() {
    if (watched_ || is_closed()) return;
    watched_ = true;
    net::watch_peer(transport_.fd(), net::Watch::close);
}

void RespSession::watch_less() {
    for (const Exchange* exchange = first_; exchange != nullptr; exchange = exchange->next_)
        if (exchange->ticket_ != 0) return;
    watched_ = false;
    show_every_ = Duration::zero();
    if (!is_closed()) net::watch_peer(transport_.fd(), net::Watch::usual);
}

/// Uses the shortest interval that any waiting command asked for.
void RespSession::show_progress(Duration every) {
    if (show_every_ == Duration::zero()) shown_at_ = parts_->turns.now();
    show_every_ = show_every_ == Duration::zero() ? every : std::min(show_every_, every);
}

void RespSession::push_progress() {
    shown_at_ = parts_->turns.now();
    if (client_.protocol != codec::resp::Protocol::resp3)
        return;  // the client switched to RESP2, where this would be taken for a reply
    std::int64_t waiting = 0;
    for (const Exchange* exchange = first_; exchange != nullptr; exchange = exchange->next_)
        waiting += exchange->ticket_ != 0 && !exchange->done_ ? 1 : 0;
    std::string message;
    codec::resp::ReplyWriter writer(message, client_.protocol);
    writer.push(2);
    writer.bulk("lease:waiting");
    writer.integer(waiting);
    push(message);
}

void RespSession::cancel_waits() {
    for (Exchange* exchange = first_; exchange != nullptr; exchange = exchange->next_)
        if (exchange->ticket_ != 0) parts_->authority.cancel(std::exchange(exchange->ticket_, 0));
}

/// All output is sent. Closing with unread input would discard a reply that is still in transit.
void RespSession::linger() {
    if (lingering_) return;
    leave();
    if (ended_ || parts_->stopping || !transport_.end_sending()) return close();
    lingering_ = true;
    linger_until_ = parts_->turns.now() + linger_for;
    look_for({true, false});
}

void RespSession::close() {
    if (is_closed()) return;
    const auto alive = shared_from_this();
    if (!parts_->gone) leave();
    parts_->turns.poller().remove(transport_.fd());
    transport_.close();
    if (is_linked()) unlink();
    give_up_input();
    for (const Step& step : std::exchange(steps_, {}))
        step.exchange->finish();
    pushes_.clear();
    move_on();
    parts_->forget(*this);
}

void RespSession::stop() {
    if (is_closed()) return;
    ending_ = true;
    send();
}

void RespSession::refuse_connection(std::string_view error) {
    refused_ = true;
    codec::resp::ReplyWriter(output_, client_.protocol).error("ERR", error);
    ending_ = true;
    send();
}

/// The rest of a command did not arrive. If others are under way, its error would have to wait for their replies.
void RespSession::give_up_on_command() {
    half_since_.reset();
    if (first_ != nullptr || ending_) return close();
    refuse_command("ERR Protocol error:", "the command did not arrive in time");
    ending_ = true;
    give_up_input();
    send();
}

void RespSession::check(Clock::time_point now) {
    if (is_closed()) return;
    if (lingering_ && now >= linger_until_) return close();
    if (writing_.is_late(now, parts_->options.write_timeout)) return close();
    if (half_since_ && now >= *half_since_ + parts_->options.read_timeout) return give_up_on_command();
    if (show_every_ > Duration::zero() && now >= shown_at_ + show_every_) push_progress();
    const Duration idle = parts_->options.idle_timeout;
    const bool idles = first_ == nullptr && subscriptions_.size() == 0;
    if (idle > Duration::zero() && idles && now >= active_at_ + idle) close();
}

}  // namespace holdfast::doors::resp
