#include "store/redis/nodes.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "codec/resp/resp_command.h"

namespace holdfast::store::redis {
namespace {

constexpr Duration pause_least = 50ms;
constexpr Duration max_pause = 1s;
constexpr Duration tick_every = 1s;
constexpr std::size_t max_clients = 1000;

/// Errors of a server that is no longer a working master: another one is, or will be.
constexpr std::array<std::string_view, 4> gone{"READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN"};

}  // namespace

Nodes::Nodes(boost::asio::io_context& loop, RedisEngineOptions options, std::string channel, Hooks hooks)
    : loop_(loop),
      options_(std::move(options)),
      channel_(std::move(channel)),
      hooks_(std::move(hooks)),
      random_(random_seed()),
      timer_(loop),
      ticker_(loop),
      why_down_(unavailable(options_.address.shown() + " was not reached yet")) {
    seeds_.push_back({options_.address.host, options_.address.port});
}

void Nodes::start(cas::EngineListener& listener) {
    listener_ = &listener;
    connect();
}

void Nodes::stop() {
    if (state_ == State::stopped && listener_ == nullptr) return;
    state_ = State::stopped;
    listener_ = nullptr;
    ++attempt_;
    timer_.cancel();
    ticker_.cancel();
    why_down_ = unavailable("the store is being stopped");
    close_all(why_down_);
}

Link::Parts Nodes::link_parts(const Place& place) {
    codec::resp::RedisAddress address = options_.address;
    address.host = place.host;
    address.port = place.port;
    return {.loop = loop_,
            .address = std::move(address),
            .connect_within = options_.connect_within,
            .answer_within = options_.answer_within + (options_.wait > 0 ? options_.wait_within : Duration{0}),
            .wait = options_.wait,
            .wait_within = options_.wait_within,
            .max_calls = options_.max_calls,
            .max_unsent_bytes = options_.max_unsent_bytes,
            .before_sending = {},
            .on_refused = {},
            .on_message = {},
            .on_lost = [weak = weak_from_this(), attempt = attempt_](const Error& why) {
                const auto self = weak.lock();
                if (self && attempt == self->attempt_) self->down(why);
            }};
}

void Nodes::connect() {
    state_ = State::connecting;
    ++attempt_;
    greet(seeds_[failures_ % seeds_.size()], [this](const NodePointer& seed) { seed_greeted(seed); });
}

/// Calls back when the node is ready. If it never is, the attempt fails.
void Nodes::greet(const Place& place, Greeted greeted) {
    auto node = std::make_shared<Node>();
    node->place = place;
    greeted_ = node;
    Link::Parts parts = link_parts(place);
    const std::weak_ptr<Node> weak_node = node;
    parts.before_sending = [this, weak = weak_from_this(), weak_node] {
        const auto kept = weak.lock();
        const auto sender = weak_node.lock();
        if (kept && sender && is_up() && sender == master_) hooks_.before_sending();
    };
    parts.on_refused = [this, weak = weak_from_this(), weak_node](Link::Refused what) {
        const auto kept = weak.lock();
        const auto sender = weak_node.lock();
        if (kept && sender) return refused(sender, std::move(what));
        what.command.reply(unavailable("the store is being stopped"));
    };
    node->link = std::make_shared<Link>(std::move(parts));
    node->link->open();
    const auto commands = Greeting::commands(node->link->address());
    auto answers = std::make_shared<std::vector<codec::resp::Value>>();
    for (const std::string& one : commands)
        node->link->send(one, [this, weak = weak_from_this(), weak_node, answers, attempt = attempt_, greeted,
                               whole = commands.size()](Result<codec::resp::Value> answer) {
            const auto kept = weak.lock();
            const auto asked = weak_node.lock();
            if (!answer || !kept || !asked || attempt != attempt_) return;
            answers->push_back(std::move(*answer));
            if (answers->size() == whole) greeting_answered(asked, *answers, greeted);
        });
}

void Nodes::greeting_answered(const NodePointer& node, const std::vector<codec::resp::Value>& answers,
                              const Greeted& greeted) {
    auto facts = Greeting::read(node->link->address(), answers);
    if (!facts) return down(facts.error());
    node->facts = std::move(*facts);
    in_cluster_ = node->facts.in_cluster;
    observe(*node, node->facts.time);
    end_earlier_life(node, greeted);
}

/// Commands that this front sent on an earlier connection, and that Redis has not read yet, must not take effect any
/// more.
void Nodes::end_earlier_life(const NodePointer& node, const Greeted& greeted) {
    const auto ready = [node, greeted] {
        node->is_ready = true;
        greeted(node);
    };
    if (clients_.size() > max_clients) clients_.clear();
    auto& client = clients_[node->facts.run_id];
    const auto earlier = std::exchange(client, node->facts.client_id);
    if (earlier == 0) return ready();
    node->link->send(
        codec::resp::command_of({"CLIENT", "KILL", "ID", std::to_string(earlier)}),
        [this, ready, attempt = attempt_, kept = shared_from_this()](const Result<codec::resp::Value>& answer) {
            if (answer && attempt == attempt_) ready();
        });
}

void Nodes::seed_greeted(const NodePointer& seed) {
    if (!seed->facts.in_cluster) {
        if (options_.cluster) return down(unavailable(options_.address.shown() + " is not in a cluster"));
        return take_master(seed);
    }
    if (options_.address.database != 0) return down(unavailable("a Redis cluster has only database 0"));
    seed->link->send(
        codec::resp::command_of({"CLUSTER", "SLOTS"}),
        [this, seed, attempt = attempt_, kept = shared_from_this()](const Result<codec::resp::Value>& answer) {
            if (answer && attempt == attempt_) slots_answered(seed, *answer);
        });
}

void Nodes::slots_answered(const NodePointer& seed, const codec::resp::Value& answer) {
    const auto owner = read_slots(answer, slot_of('{' + options_.prefix + '}'), seed->place.host);
    if (!owner) return down(owner.error());
    seeds_ = {{options_.address.host, options_.address.port}};
    for (const Place& place : owner->masters)
        if (place != seeds_[0]) seeds_.push_back(place);
    if (!owner->master) return down(unavailable("no node of the Redis cluster has the slot of the store's keys"));
    if (owner->master->id == seed->facts.node_id) return take_master(seed);
    greet(owner->master->place, [this, id = owner->master->id](const NodePointer& node) {
        if (node->facts.node_id != id) return down(unavailable(node->link->address().shown() + " is another node now"));
        take_master(node);
    });
    seed->link->close(why_down_);
}

void Nodes::take_master(const NodePointer& node) {
    if (!node->facts.is_master) return down(unavailable(node->link->address().shown() + " is no longer a master"));
    if (master_ && master_->facts.run_id == node->facts.run_id && node->facts.evicted > master_->facts.evicted)
        has_evicted_ = true;
    master_ = node;
    subscribe();
}

void Nodes::subscribe() {
    Link::Parts parts = link_parts(master_->place);
    parts.wait = 0;
    parts.on_message = [this, weak = weak_from_this()](const codec::resp::Value& value) {
        if (const auto kept = weak.lock()) message(value);
    };
    subscription_ = std::make_shared<Link>(std::move(parts));
    subscription_->open();
    const auto answered = [this, weak = weak_from_this(), attempt = attempt_](bool last) {
        return [this, weak, attempt, last](const Result<codec::resp::Value>& answer) {
            const auto kept = weak.lock();
            if (!kept || !answer || attempt != attempt_) return;
            if (answer->is_error())
                down(unavailable(fmt::format("{} cannot be used: {}", options_.address.shown(), quoted(answer->text))));
            else if (last)
                up();
        };
    };
    for (const std::string& one : credentials(options_.address))
        subscription_->send(one, answered(false));
    subscription_->send(codec::resp::command_of({"SUBSCRIBE", channel_}), answered(true));
}

void Nodes::message(const codec::resp::Value& value) {
    if (value.items[1].text != channel_) return;
    for (const std::string_view notice : notices_in(value.items[2].text))
        if (state_ == State::up) listener_->on_notice(notice);
}

void Nodes::up() {
    state_ = State::up;
    told_down_ = false;
    const cas::EngineHello hello = read_hello();
    life_ = hash_text({}, hello.history);
    version_ = master_->facts.version;
    hooks_.on_up();
    tick();
    listener_->on_reachable(hello);
}

cas::EngineHello Nodes::read_hello() {
    const Facts& facts = master_->facts;
    const std::string process = facts.run_id + '.' + facts.replication_id;
    return {.history = in_cluster_ ? facts.node_id + '.' + process : process,
            .lost = std::exchange(has_evicted_, false)};
}

void Nodes::down(const Error& why) {
    if (state_ == State::waiting || state_ == State::stopped) return;
    state_ = State::waiting;
    ++attempt_;
    const bool is_another = std::exchange(why_down_, why).message != why.message;
    ticker_.cancel();
    const auto kept = shared_from_this();
    if (!std::exchange(told_down_, true) || is_another) listener_->on_unreachable(why);
    close_all(why);
    if (state_ == State::waiting) wait_and_connect();
}

void Nodes::close_all(const Error& why) {
    if (const auto link = std::exchange(subscription_, nullptr)) link->close(why);
    const auto greeted = std::exchange(greeted_, nullptr);
    for (const NodePointer& node : {greeted, master_}) {
        if (!node) continue;
        node->is_ready = false;
        node->link->close(why);
    }
    hooks_.on_closed();
}

void Nodes::wait_and_connect() {
    const Duration whole = std::min(Duration{pause_least.count() << std::min(failures_, 10U)}, max_pause);
    ++failures_;
    timer_.expires_after(
        whole / 2 + Duration(static_cast<std::int64_t>(random_.unit() * static_cast<double>((whole / 2).count()))));
    timer_.async_wait([this, weak = weak_from_this(), attempt = attempt_](boost::system::error_code cancelled) {
        const auto kept = weak.lock();
        if (kept && !cancelled && attempt == attempt_) connect();
    });
}

/// Detects, also without traffic, that a Redis is gone, has become a replica or may evict leases, and tracks its clock.
void Nodes::tick() {
    ask_for_time();
    ask_for_info();
    subscription_->send(codec::resp::command_of({"PING"}), [](const Result<codec::resp::Value>&) {});
    ticker_.expires_after(tick_every);
    ticker_.async_wait([this, weak = weak_from_this(), attempt = attempt_](boost::system::error_code cancelled) {
        const auto kept = weak.lock();
        if (!kept || cancelled || attempt != attempt_) return;
        failures_ = 0;
        tick();
    });
}

void Nodes::ask_for_time() {
    master_->link->send(codec::resp::command_of({"TIME"}),
                        [this, weak = weak_from_this()](const Result<codec::resp::Value>& answer) {
                            const auto kept = weak.lock();
                            if (!kept || !answer || answer->items.size() != 2) return;
                            if (const auto said = read_time(answer->items[0].text, answer->items[1].text))
                                observe(*master_, *said);
                        });
}

void Nodes::ask_for_info() {
    master_->link->send(codec::resp::command_of({"INFO", "replication", "memory", "stats"}),
                        [this, weak = weak_from_this(), attempt = attempt_](const Result<codec::resp::Value>& answer) {
                            const auto kept = weak.lock();
                            if (!kept || !answer || !answer->is_text() || attempt != attempt_) return;
                            if (const std::string why = why_unusable(answer->text); !why.empty())
                                down(unavailable(master_->link->address().shown() + why));
                        });
}

/// A server that became a replica and then a master again may have closed no connection and refused no command. Neither
/// does a server that has begun to evict keys.
std::string Nodes::why_unusable(std::string_view info) const {
    if (info_field(info, "master_replid") != master_->facts.replication_id)
        return " has become part of another replication";
    if (const std::string why = why_evicting(info); !why.empty()) return " cannot be used: " + why;
    return evicted_keys(info) > master_->facts.evicted ? " has evicted keys, and there may be leases among them" : "";
}

void Nodes::observe(const Node& node, Micros said) {
    clock_ahead_ = std::chrono::microseconds(said) - node.link->asked_at().time_since_epoch();
}

void Nodes::refused(const NodePointer& node, Link::Refused refused) {
    const std::string error = std::move(refused.error);
    const std::string code = error.substr(0, error.find(' '));
    if (is_up() && code == "NOSCRIPT" && refused.command.script != Script::none) {
        const std::string bytes = with_text(refused.sent, std::exchange(refused.command.script, Script::none));
        node->link->begin() += bytes;
        return node->link->end(std::move(refused.command));
    }
    const std::string key = key_of(refused.sent);
    const Error why = unavailable(node->link->address().shown() + " refuses" +
                                  (key.empty() ? "" : " the key " + quoted(key)) + ": " + quoted(error));
    const bool is_gone = std::ranges::find(gone, code) != gone.end() || (in_cluster_ && code == "MOVED");
    refused.command.reply(why);
    if (is_gone && node->is_ready) down(why);
}

}  // namespace holdfast::store::redis
