#include "redis_peer.h"

#include <algorithm>
#include <stdexcept>

#include "base/random.h"
#include "client/sessions/lease_commands.h"
#include "ledger.h"
#include "resp_client.h"

namespace holdfast::bench {
namespace {

constexpr std::uint32_t pipeline = 1000;
constexpr Milliseconds poll_pause{100};

struct Known {
    std::uint32_t grant = 0;  ///< its number makes the value
    std::uint32_t ttl_ms = 0;
    Moment end;
};

Moment end_of(Moment asked, Milliseconds ttl) {
    return asked + ttl - ttl / 100 - Milliseconds(2);
}

/// A Redis that starts has forgotten all scripts; and one that may not be written to, as it is a replica, refuses DEL.
RespCommands greeting() {
    RespCommands commands;
    commands.add({"DEL", "peer-client-writes"});
    commands.add({"SCRIPT", "LOAD", client::sessions::renew_script});
    commands.add({"SCRIPT", "LOAD", client::sessions::release_script});
    return commands;
}

/// What a script did that compares first.
Doing done_by(const RespClient::Answers& answers) {
    const bool done = answers.values.front().number == 1;
    return {{answers.asked, answers.answered}, done, done ? "" : "the key is another's or gone"};
}

class RedisPeer final : public Peer {
 public:
    explicit RedisPeer(PeerSetting setting)
        : holder_(std::move(setting.holder)),
          secret_(random_hex(8)),
          dice_(random_seed()),
          client_(std::move(setting.ports), greeting()) {}

    Promises promises() override;

    Granting acquire(const std::string& name, Milliseconds ttl) override;
    Granting await(const std::string& name, Milliseconds ttl, Milliseconds within) override;
    Doing renew(const std::string& name) override;
    Doing release(const std::string& name) override;
    bool held(const std::string& name) override;
    Showing owner(const std::string& name) override;

    void fill(Range range, Milliseconds ttl) override;
    Batching batching() override { return {.leases = pipeline, .under_way = 2}; }
    void begin_renewals(Range range) override;
    void finish_renewals(Range range) override;

    std::string watch_ends() override;
    void acquire_ending(std::uint32_t first, std::span<Ending> leases) override;
    void see_ends(Moment until, std::vector<SeenEnd>& seen) override;

    std::uint64_t check_locally(std::uint64_t count) override;
    void drop() override;

 private:
    /// No two grants have the same one, so that an earlier holding cannot end a later one; and it shows who holds it.
    std::string value_of(std::uint32_t grant) const { return holder_ + ':' + secret_ + std::to_string(grant); }
    RespClient::Answers ask(const RespCommands& commands);
    std::unique_ptr<RespLink> subscribe(const std::string& channel, const std::string& events);
    std::string setting_of(const std::string& name);

    std::string holder_;
    std::string secret_;
    Random dice_;
    RespClient client_;
    Ledger<Known> ledger_;
    std::uint32_t grants_ = 0;
    std::unique_ptr<RespLink> events_;
};

/// An error that is answered may mean that this is not the master any more: the next question finds out where it is.
RespClient::Answers RedisPeer::ask(const RespCommands& commands) {
    auto answers = client_.ask(commands);
    for (const codec::resp::Value& answer : answers.values)
        if (answer.is_error()) {
            client_.disconnect();
            throw std::runtime_error(answer.text);
        }
    return answers;
}

std::string RedisPeer::setting_of(const std::string& name) {
    RespCommands commands;
    commands.add({"CONFIG", "GET", name});
    const codec::resp::Value answer = ask(commands).values.front();
    return answer.items.size() == 2 ? answer.items[1].text : "";
}

Promises RedisPeer::promises() {
    return {.durable = setting_of("appendonly") == "yes" && setting_of("appendfsync") == "always",
            .replicated = false,
            .token = false,
            .local_deadline = "asking + TTL - 1 % - 2 ms, CLOCK_MONOTONIC (Redlock's validity)"};
}

Granting RedisPeer::acquire(const std::string& name, Milliseconds ttl) {
    const std::uint32_t grant = ++grants_;
    RespCommands commands;
    commands.add({"SET", name, value_of(grant), "NX", "PX", std::to_string(ttl.count())});
    const auto answers = ask(commands);
    const codec::resp::Value& answer = answers.values.front();
    Granting granting;
    static_cast<Exchange&>(granting) = answers;
    granting.granted = answer.text == "OK";
    if (granting.granted)
        ledger_.write(name, {grant, static_cast<std::uint32_t>(ttl.count()), end_of(answers.asked, ttl)});
    else
        granting.why = "the key exists";
    return granting;
}

Granting RedisPeer::await(const std::string& name, Milliseconds ttl, Milliseconds within) {
    const Moment until = SteadyClock::now() + within;
    Granting granting = acquire(name, ttl);
    if (granting.granted) return granting;
    const auto freed = subscribe("__keyspace@0__:" + name, "Kgx");
    RespCommands question;
    question.add({"PTTL", name});
    while (true) {
        granting = acquire(name, ttl);
        if (granting.granted || SteadyClock::now() >= until) return granting;
        const auto left = ask(question).values.front().number;
        const Milliseconds jittered = poll_pause / 2 + Milliseconds(dice_.below(poll_pause.count()));
        const Milliseconds pause = std::clamp(Milliseconds(left), Milliseconds(0), jittered);
        freed->receive(std::min(until, SteadyClock::now() + pause));
    }
}

Doing RedisPeer::renew(const std::string& name) {
    Known& known = ledger_.expect(name);
    RespCommands commands;
    commands.add({"EVALSHA", client::sessions::renew_script_sha, "1", name, value_of(known.grant),
                  std::to_string(known.ttl_ms)});
    const Doing renewal = done_by(ask(commands));
    known.end = renewal.done ? end_of(renewal.asked, Milliseconds(known.ttl_ms)) : Moment{};
    return renewal;
}

Doing RedisPeer::release(const std::string& name) {
    Known& known = ledger_.expect(name);
    known.end = {};
    RespCommands commands;
    commands.add({"EVALSHA", client::sessions::release_script_sha, "1", name, value_of(known.grant)});
    return done_by(ask(commands));
}

bool RedisPeer::held(const std::string& name) {
    const Known* known = ledger_.find(name);
    return known && SteadyClock::now() < known->end;
}

Showing RedisPeer::owner(const std::string& name) {
    RespCommands commands;
    commands.add({"GET", name});
    const auto answers = ask(commands);
    const codec::resp::Value& answer = answers.values.front();
    Showing showing;
    static_cast<Exchange&>(showing) = answers;
    if (answer.is_text()) showing.holder = answer.text.substr(0, answer.text.rfind(':'));
    return showing;
}

void RedisPeer::fill(Range range, Milliseconds ttl) {
    const std::string ttl_ms = std::to_string(ttl.count());
    ledger_.filled().resize(range.first);
    in_batches(range, pipeline, [&](Range batch) {
        const std::uint32_t first_grant = grants_ + 1;
        RespCommands commands;
        for (std::uint32_t i = 0; i < batch.count; ++i)
            commands.add({"SET", fill_name(batch.first + i), value_of(++grants_), "NX", "PX", ttl_ms});
        const auto answers = ask(commands);
        for (std::uint32_t i = 0; i < batch.count; ++i) {
            if (answers.values[i].text != "OK")
                throw std::runtime_error(fill_name(batch.first + i) + " was not granted");
            ledger_.filled().push_back(
                {first_grant + i, static_cast<std::uint32_t>(ttl.count()), end_of(answers.asked, ttl)});
        }
    });
}

void RedisPeer::begin_renewals(Range range) {
    RespCommands commands;
    for (std::uint32_t i = range.first; i < range.first + range.count; ++i) {
        const Known& known = ledger_.filled()[i];
        commands.add({"EVALSHA", client::sessions::renew_script_sha, "1", fill_name(i), value_of(known.grant),
                      std::to_string(known.ttl_ms)});
    }
    client_.begin(commands);
}

void RedisPeer::finish_renewals(Range range) {
    const auto answers = client_.finish();
    for (std::uint32_t i = 0; i < range.count; ++i) {
        Known& known = ledger_.filled()[range.first + i];
        known.end = end_of(answers.asked, Milliseconds(known.ttl_ms));
        if (answers.values[i].number == 1) continue;
        client_.disconnect();
        throw std::runtime_error("not all were renewed: " + answers.values[i].text);
    }
}

/// Turns on the notifications that it takes, which cost the server something: they are off until somebody waits.
std::unique_ptr<RespLink> RedisPeer::subscribe(const std::string& channel, const std::string& events) {
    const Moment until = SteadyClock::now() + answer_limit;
    const std::string so_far = setting_of("notify-keyspace-events");
    RespCommands enable;
    enable.add({"CONFIG", "SET", "notify-keyspace-events", so_far + events});
    ask(enable);
    auto link = std::make_unique<RespLink>(client_.port(), until);
    RespCommands commands;
    commands.add({"SUBSCRIBE", channel});
    link->send(commands.bytes, until);
    const auto answer = link->receive(until);
    if (!answer || answer->is_error()) throw std::runtime_error("the server does not let one subscribe");
    return link;
}

std::string RedisPeer::watch_ends() {
    events_ = subscribe("__keyevent@0__:expired", "Ex");
    return "keyspace notifications";
}

void RedisPeer::acquire_ending(std::uint32_t first, std::span<Ending> leases) {
    RespCommands commands;
    for (std::uint32_t i = 0; i < leases.size(); ++i)
        commands.add(
            {"SET", end_name(first + i), value_of(++grants_), "NX", "PX", std::to_string(leases[i].ttl.count())});
    const auto answers = ask(commands);
    for (std::uint32_t i = 0; i < leases.size(); ++i) {
        if (answers.values[i].text != "OK") throw std::runtime_error(end_name(first + i) + " was not granted");
        static_cast<Exchange&>(leases[i]) = answers;
    }
}

void RedisPeer::see_ends(Moment until, std::vector<SeenEnd>& seen) {
    if (!events_) throw std::runtime_error("nothing is watched");
    for (auto event = events_->receive(until); event; event = events_->receive({})) {
        const Moment now = SteadyClock::now();
        if (event->items.size() != 3) continue;
        if (const auto number = number_in("end-", event->items[2].text)) seen.push_back({.number = *number, .at = now});
    }
}

std::uint64_t RedisPeer::check_locally(std::uint64_t count) {
    const Known& known = ledger_.expect(fill_name(0));
    std::uint64_t yes = 0;
    for (std::uint64_t i = 0; i < count; ++i)
        yes += SteadyClock::now() < known.end ? 1 : 0;
    return yes;
}

void RedisPeer::drop() {
    client_.disconnect();
    events_.reset();
    ledger_.clear();
}

}  // namespace

std::unique_ptr<Peer> redis_peer(PeerSetting setting) {
    return std::make_unique<RedisPeer>(std::move(setting));
}

}  // namespace holdfast::bench
