#include "doors/resp/session.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "authority/store_call.h"
#include "base/assert.h"
#include "doors/resp/exchange.h"
#include "doors/resp/lease_replies.h"
#include "doors/resp/redis_call.h"
#include "lease/manifest.h"

namespace holdfast::doors::resp {
namespace {

constexpr std::size_t max_answers_bytes = 256 * 1024;  // limit of unread replies before the next command is read
constexpr std::size_t max_under_way = 1024;
constexpr std::size_t commands_per_clock = 256;  // after which the clock is read again in a long turn
constexpr std::size_t max_input_bytes = codec::resp::max_command_bytes + net::Buffers::bytes;
constexpr std::size_t max_kept_bytes = 64 * 1024;  // memory that an exchange keeps for its next command

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

RespSession::RespSession(net::Admitted admitted, std::shared_ptr<RespDoorParts> parts)
    : Connection(std::move(admitted), {max_input_bytes, parts->options.write_timeout}),
      parts_(std::move(parts)),
      scoped_(parts_->authority),
      since_(now()),
      active_at_(now()) {}

// ---- commands ----

bool RespSession::has_room() const {
    return under_way_ < max_under_way && waiting_bytes() < max_answers_bytes && steps_.empty();
}

bool RespSession::run() {
    if (!input().empty()) active_at_ = now();
    take_steps();
    handle_commands();
    if (has_ended()) cancel_waits();  // the client has left
    if (has_ended() && !stopped_short_) {
        ending_ = true;
        leave();
    }
    move_on();
    output() += pushes_;
    pushes_.clear();
    if (ending_ && first_ == nullptr) {
        leave();
        finish();
    }
    if (!steps_.empty()) wake();
    const bool waits = under_way_ == max_under_way || kept_bytes_ >= max_answers_bytes;  // for replies under way
    return stopped_short_ && steps_.empty() && !waits;
}

void RespSession::handle_commands() {
    using Outcome = codec::resp::CommandReader::Outcome;
    handling_ = true;
    std::size_t handled = 0;
    auto outcome = Outcome::command;
    bool has_time = true;
    while (outcome == Outcome::command && !input().empty() && !ending_ && !is_giving_up() && has_time && has_room()) {
        outcome = read_ahead();
        const CommandBatch& batch = parts_->batch;
        for (std::size_t i = 0; i < batch.size(); ++i)
            dispatch(batch.command(i), batch.words(i));
        consume(read_bytes_);
        if (handled / commands_per_clock != (handled + batch.size()) / commands_per_clock) read_clock();
        handled += batch.size();
        has_time = input().empty() || !is_slice_over();
    }
    if (outcome == Outcome::malformed && !ending_) {
        refuse_command("ERR Protocol error:", reader_.error());
        ending_ = true;
    }
    handling_ = false;
    stopped_short_ = !steps_.empty() || (!input().empty() && !ending_ && outcome == Outcome::command);
    if (outcome != Outcome::more)
        half_since_.reset();
    else if (!half_since_ || handled > 0)
        half_since_ = now();
    parts_->commands_handled += handled;
    if (ending_) consume(input().size());
}

/// Continues commands that take long, in the order in which they asked for it.
void RespSession::take_steps() {
    if (steps_.empty()) return;
    handling_ = true;
    do {
        const Step step = std::move(steps_.front());
        steps_.pop_front();
        step.run();
    } while (!steps_.empty() && !is_slice_over());
    handling_ = false;
    move_on();
}

/// Reads commands to be handled together: those with a Foresight, and perhaps one other after them, so that the store
/// can prefetch the records of all of them.
codec::resp::CommandReader::Outcome RespSession::read_ahead() {
    using Outcome = codec::resp::CommandReader::Outcome;
    CommandBatch& batch = parts_->batch;
    batch.clear();
    std::string_view rest = input();
    auto outcome = Outcome::command;
    const std::size_t most = std::min(CommandBatch::max_commands, max_under_way - under_way_);
    for (bool foreseen = true; foreseen && batch.size() < most && !rest.empty();) {
        const bool is_array = rest.front() == '*';
        outcome = reader_.read(rest);
        if (outcome != Outcome::command) break;
        rest.remove_prefix(reader_.size());
        const auto words = reader_.words();
        if (words.empty()) continue;
        const RespCommand* command = find(words[0]);
        batch.add(command, words);
        // The words of an inline command are stored in the reader only until the next command is read.
        foreseen = is_array && command != nullptr && command->foresight.resource != 0;
    }
    read_bytes_ = input().size() - rest.size();
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
    if (command == nullptr && is_of_a_web_page(words[0])) return give_up("a web page sent this");
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
    const std::size_t begin = output().size();
    Exchange& exchange = take_exchange();
    exchange.begin(words, true);
    command.handler(exchange);
    if (exchange.done_) return recycle(exchange);
    exchange.words_ = {};
    exchange.direct_ = false;
    exchange.kept_.assign(output(), begin);
    output().resize(begin);
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
    if (first_ == nullptr) return codec::resp::ReplyWriter(output(), client_.protocol).error(code, text);
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
    std::shared_ptr<void> alive;  // the last exchange may be the only owner of this session
    while (first_ != nullptr && first_->done_) {
        Exchange& exchange = *first_;
        first_ = exchange.next_;
        if (first_ == nullptr) last_ = nullptr;
        --under_way_;
        kept_bytes_ -= exchange.kept_.size();
        if (!is_closed()) output() += exchange.kept_;
        alive = std::move(exchange.alive_);
        recycle(exchange);
    }
}

// ---- messages ----

void RespSession::push(std::string_view message) {
    if (is_gone() || is_giving_up()) return;
    pushes_ += message;
    if (waiting_bytes() > max_pushes_bytes) return give_up("too many messages are unread");
    if (!handling_) wake();
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
    watch_peer(net::Watch::close);
}

void RespSession::watch_less() {
    for (const Exchange* exchange = first_; exchange != nullptr; exchange = exchange->next_)
        if (exchange->ticket_ != 0) return;
    watched_ = false;
    show_every_ = Duration::zero();
    watch_peer(net::Watch::usual);
}

/// Uses the shortest interval that any waiting command asked for.
void RespSession::show_progress(Duration every) {
    if (show_every_ == Duration::zero()) shown_at_ = now();
    show_every_ = show_every_ == Duration::zero() ? every : std::min(show_every_, every);
}

void RespSession::push_progress() {
    shown_at_ = now();
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

void RespSession::on_close(const std::string&) {
    handling_ = true;
    if (parts_->door != nullptr) leave();
    for (const Step& step : std::exchange(steps_, {}))
        step.exchange->finish();
    handling_ = false;
    pushes_.clear();
    move_on();
}

void RespSession::stop() {
    ending_ = true;
    wake();
}

void RespSession::refuse() {
    refuse_command("ERR", "max number of clients reached");
    ending_ = true;
    finish();
}

/// The rest of a command did not arrive. If others are under way, its error would have to wait for their replies.
void RespSession::give_up_on_command() {
    half_since_.reset();
    if (first_ != nullptr || ending_) return give_up("a command did not arrive in time");
    refuse_command("ERR Protocol error:", "the command did not arrive in time");
    stop();
}

void RespSession::on_check(Clock::time_point time) {
    if (half_since_ && time >= *half_since_ + parts_->options.read_timeout) return give_up_on_command();
    if (show_every_ > Duration::zero() && time >= shown_at_ + show_every_) push_progress();
    const Duration idle = parts_->options.idle_timeout;
    const bool idles = first_ == nullptr && subscriptions_.size() == 0;
    if (idle > Duration::zero() && idles && time >= active_at_ + idle) give_up("it was idle");
}

}  // namespace holdfast::doors::resp
