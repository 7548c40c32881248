#include "resp_client.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/clock.h"
#include "codec/resp/resp_command.h"

namespace holdfast::bench {
namespace {

/// For one node, if there are others, as the load generators have it; and more for a pipeline.
constexpr Milliseconds attempt_time{1000};
constexpr Milliseconds attempt_time_each{5};

codec::resp::Value expect(RespLink& link, Moment until) {
    auto value = link.receive(until);
    if (!value) throw std::runtime_error("the server does not answer");
    return std::move(*value);
}

}  // namespace

RespClient::RespClient(std::vector<std::uint16_t> ports, RespCommands greeting)
    : ports_(std::move(ports)), greeting_(std::move(greeting)) {}

RespClient::Answers RespClient::ask(const RespCommands& commands, Milliseconds patience) {
    const Moment limit = SteadyClock::now() + answer_limit + patience;
    for (std::size_t attempt = 1;; ++attempt) {
        const auto max_attempt = attempt_time + attempt_time_each * static_cast<int>(commands.count) + patience;
        const Moment until = ports_.size() == 1 ? limit : std::min(limit, SteadyClock::now() + max_attempt);
        try {
            open(until);
            send(commands, until);
            return receive(until);
        } catch (const std::runtime_error&) {
            go_on();
            if (attempt == 2 * ports_.size() || ports_.size() == 1 || SteadyClock::now() >= limit) throw;
        }
    }
}

void RespClient::begin(const RespCommands& commands) {
    try {
        const Moment until = SteadyClock::now() + answer_limit;
        open(until);
        send(commands, until);
    } catch (const std::runtime_error&) {
        go_on();
        throw;
    }
}

RespClient::Answers RespClient::finish() {
    if (under_way_.empty()) throw std::runtime_error("the connection was lost");
    try {
        return receive(SteadyClock::now() + answer_limit);
    } catch (const std::runtime_error&) {
        go_on();
        throw;
    }
}

void RespClient::send(const RespCommands& commands, Moment until) {
    UnderWay& request = under_way_.emplace_back();
    request.missing = commands.count;
    request.answers.sent_at = holder_clock_now();
    request.answers.asked = SteadyClock::now();
    link_->send(commands.bytes, until);
}

RespClient::Answers RespClient::receive(Moment until) {
    UnderWay& request = under_way_.front();
    request.answers.values.reserve(request.missing);
    for (; request.missing > 0; --request.missing)
        request.answers.values.push_back(expect(*link_, until));
    request.answers.answered = SteadyClock::now();
    Answers answers = std::move(request.answers);
    under_way_.pop_front();
    return answers;
}

void RespClient::open(Moment until) {
    if (link_ && (!under_way_.empty() || !link_->is_closed())) return;
    disconnect();
    link_.emplace(ports_[at_], until);
    link_->send(greeting_.bytes, until);
    for (std::size_t i = 0; i < greeting_.count; ++i)
        if (const codec::resp::Value answer = expect(*link_, until); answer.is_error()) {
            disconnect();
            throw std::runtime_error(answer.text);
        }
}

void RespClient::disconnect() {
    link_.reset();
    under_way_.clear();
}

void RespClient::go_on() {
    disconnect();
    at_ = (at_ + 1) % ports_.size();
}

void RespCommands::add(std::span<const std::string_view> words) {
    codec::resp::write_command(bytes, words);
    ++count;
}

}  // namespace holdfast::bench
