#include "store/redis/nodes.h"

#include <algorithm>

#include "base/clock.h"
#include "base/encodings.h"
#include "base/hash.h"
#include "wire/resp_command.h"

namespace holdfast::redis_engine {
namespace {

constexpr Duration pause_least = 50ms;
constexpr Duration pause_most = 1s;
constexpr Duration tick_every = 1s;
constexpr std::size_t clients_most = 1000;

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

void Nodes::start(core::EngineListener& listener) {
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
    RedisAddress address = options_.address;
    address.host = place.host;
    address.port = place.port;
    return {.loop = loop_,
            .address = std::move(address),
            .connect_within = options_.connect_within,
            .answer_within = options_.answer_within + (options_.wait > 0 ? options_.wait_within : Duration{0}),
            .wait = options_.wait,
            .wait_within = options_.wait_within,
            .calls_most = options_.calls_most,
            .unsent_bytes_most = options_.unsent_bytes_most,
            .before_sending = {},
            .before_answers = {},
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

/// Calls back when the node is ready; if it never is, all are given up.
Nodes::NodePointer Nodes::greet(const Place& place, Greeted greeted) {
    auto node = std::make_shared<Node>();
    node->place = place;
    others_.push_back(node);
    Link::Parts parts = link_parts(place);
    const std::weak_ptr<Node> weak_node = node;
    parts.before_sending = [this, weak = weak_from_this(), weak_node] {
        const auto kept = weak.lock();
        const auto sender = weak_node.lock();
        if (kept && sender && sender->is_ready) hooks_.before_sending(*sender);
    };
    parts.before_answers = [this, weak = weak_from_this(), weak_node] {
        if (const auto kept = weak.lock()) answering_ = weak_node.lock();
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
    auto answers = std::make_shared<std::vector<resp::Value>>();
    for (const std::string& one : commands)
        node->link->send(one, [this, weak = weak_from_this(), weak_node, answers, attempt = attempt_, greeted,
                               whole = commands.size()](Result<resp::Value> answer) {
            const auto kept = weak.lock();
            const auto asked = weak_node.lock();
            if (!answer || !kept || !asked || attempt != attempt_) return;
            answers->push_back(std::move(*answer));
            if (answers->size() == whole) greeting_answered(asked, *answers, greeted);
        });
    return node;
}

void Nodes::greeting_answered(const NodePointer& node, const std::vector<resp::Value>& answers,
                              const Greeted& greeted) {
    auto facts = Greeting::read(node->link->address(), answers);
    if (!facts) return down(facts.error());
    node->facts = std::move(*facts);
    in_cluster_ = node->facts.in_cluster;
    if (in_cluster_) node->clock = NodeClock(NodeClock::Kind::in_cluster);
    observe(*node, node->facts.time);
    end_earlier_life(node, greeted);
}

/// What this front sent on an earlier connection, and Redis has not read yet, must not take effect from now on.
void Nodes::end_earlier_life(const NodePointer& node, const Greeted& greeted) {
    const auto ready = [this, node, greeted] {
        node->is_ready = true;
        greeted(node);
        for (auto& then : std::exchange(node->when_ready, {}))
            then();
    };
    if (clients_.size() > clients_most) clients_.clear();
    auto& client = clients_[node->facts.run_id];
    const auto earlier = std::exchange(client, node->facts.client_id);
    if (earlier == 0) return ready();
    node->link->send(resp::command_of({"CLIENT", "KILL", "ID", std::to_string(earlier)}),
                     [this, ready, attempt = attempt_, kept = shared_from_this()](const Result<resp::Value>& answer) {
                         if (answer && attempt == attempt_) ready();
                     });
}

void Nodes::seed_greeted(const NodePointer& seed) {
    if (!seed->facts.in_cluster) {
        if (options_.cluster) return down(unavailable(options_.address.shown() + " is not in a cluster"));
        masters_ = {seed};
        others_.clear();
        map_version_ = hash_text({}, seed->facts.run_id);
        return subscribe();
    }
    if (options_.address.database != 0) return down(unavailable("a Redis cluster has only database 0"));
    seed->link->send(resp::command_of({"CLUSTER", "SLOTS"}),
                     [this, seed, attempt = attempt_, kept = shared_from_this()](const Result<resp::Value>& answer) {
                         if (answer && attempt == attempt_) slots_answered(seed, answer);
                     });
}

void Nodes::slots_answered(const NodePointer& seed, const Result<resp::Value>& answer) {
    auto map = read_slots(*answer, seed->place.host);
    if (!map) return down(map.error());
    set_map(std::move(*map));
    connect_masters(seed);
}

void Nodes::connect_masters(const NodePointer& seed) {
    masters_.assign(map_.masters.size(), nullptr);
    missing_ = map_.masters.size();
    const auto taken = [this](std::size_t index, const NodePointer& node) {
        if (!node->facts.is_master || node->facts.node_id != map_.masters[index].id)
            return down(unavailable(node->link->address().shown() + " is no longer a master"));
        masters_[index] = node;
        std::erase(others_, node);
        if (--missing_ == 0) subscribe();
    };
    seeds_ = {{options_.address.host, options_.address.port}};
    for (const Master& master : map_.masters)
        if (master.place != seeds_[0]) seeds_.push_back(master.place);
    for (std::size_t i = 0; i < map_.masters.size() && state_ == State::connecting; ++i) {
        if (map_.masters[i].id == seed->facts.node_id)
            taken(i, seed);
        else
            greet(map_.masters[i].place, [taken, i](const NodePointer& node) { taken(i, node); });
    }
}

void Nodes::set_map(SlotMap map) {
    map_ = std::move(map);
    map_version_ = map_.version();
}

/// One for the whole cluster: what is published at one node is told at all.
void Nodes::subscribe() {
    if (in_cluster_)
        for (const NodePointer& seed : std::exchange(others_, {}))
            seed->link->close(why_down_);
    const NodePointer& node = masters_[random_.below(masters_.size())];
    Link::Parts parts = link_parts(node->place);
    parts.wait = 0;
    parts.on_message = [this, weak = weak_from_this()](const resp::Value& value) {
        if (const auto kept = weak.lock()) message(value);
    };
    subscription_ = std::make_shared<Link>(std::move(parts));
    subscription_->open();
    const auto answered = [this, weak = weak_from_this(), attempt = attempt_](bool last) {
        return [this, weak, attempt, last](const Result<resp::Value>& answer) {
            const auto kept = weak.lock();
            if (!kept || !answer || attempt != attempt_) return;
            if (answer->is_error())
                down(unavailable(options_.address.shown() + " cannot be used: " + quoted(answer->text)));
            else if (last)
                up();
        };
    };
    for (const std::string& one : credentials(options_.address))
        subscription_->send(one, answered(false));
    subscription_->send(resp::command_of({"SUBSCRIBE", channel_}), answered(true));
}

void Nodes::message(const resp::Value& value) {
    if (state_ == State::up && value.items[1].text == channel_) listener_->on_notice(value.items[2].text);
}

void Nodes::up() {
    state_ = State::up;
    failures_ = 0;
    told_down_ = false;
    hello_ = read_hello();
    version_ = masters_[0]->facts.version;
    hooks_.on_up();
    tick();
    listener_->on_reachable(hello_);
}

core::EngineHello Nodes::read_hello() const {
    if (!in_cluster_) return {masters_[0]->facts.run_id, masters_[0]->facts.forgets};
    std::string lives;
    bool forgets = false;
    for (const NodePointer& node : masters_) {
        lives += node->facts.node_id + ' ' + node->facts.run_id + '\n';
        forgets = forgets || node->facts.forgets;
    }
    std::string digest;
    for (const std::uint64_t key : {1, 2}) {
        const std::uint64_t part = hash_text({key, 0}, lives);
        digest.append(reinterpret_cast<const char*>(&part), sizeof part);
    }
    return {to_hex(digest), forgets};
}

void Nodes::down(const Error& why) {
    if (state_ == State::waiting || state_ == State::stopped) return;
    state_ = State::waiting;
    ++attempt_;
    why_down_ = why;
    ticker_.cancel();
    const auto kept = shared_from_this();
    if (!std::exchange(told_down_, true)) listener_->on_unreachable(why);
    close_all(why);
    if (state_ == State::waiting) wait_and_connect();
}

void Nodes::close_all(const Error& why) {
    auto nodes = std::exchange(masters_, {});
    for (NodePointer& node : std::exchange(others_, {}))
        nodes.push_back(std::move(node));
    auto parked = std::exchange(parked_, {});
    refreshing_ = false;
    if (const auto link = std::exchange(subscription_, nullptr)) link->close(why);
    for (const NodePointer& node : nodes) {
        if (!node) continue;
        node->is_ready = false;
        node->link->close(why);
        for (auto& then : std::exchange(node->when_ready, {}))
            then();
    }
    for (Parked& one : parked)
        one.command.reply(why);
    hooks_.on_closed();
}

void Nodes::wait_and_connect() {
    const Duration whole = std::min(Duration{pause_least.count() << std::min(failures_, 10U)}, pause_most);
    ++failures_;
    timer_.expires_after(
        whole / 2 + Duration(static_cast<std::int64_t>(random_.unit() * static_cast<double>((whole / 2).count()))));
    timer_.async_wait([this, weak = weak_from_this(), attempt = attempt_](boost::system::error_code cancelled) {
        const auto kept = weak.lock();
        if (kept && !cancelled && attempt == attempt_) connect();
    });
}

/// Finds out that a Redis is gone also while nobody asks it anything, and what its clock does.
void Nodes::tick() {
    for (const NodePointer& node : masters_)
        node->link->send(resp::command_of({"TIME"}),
                         [this, weak = weak_from_this(), node](const Result<resp::Value>& answer) {
                             const auto kept = weak.lock();
                             if (!kept || !answer || answer->items.size() != 2) return;
                             if (const auto said = read_time(answer->items[0].text, answer->items[1].text))
                                 observe(*node, *said);
                         });
    subscription_->send(resp::command_of({"PING"}), [](const Result<resp::Value>&) {});
    ticker_.expires_after(tick_every);
    ticker_.async_wait([this, weak = weak_from_this(), attempt = attempt_](boost::system::error_code cancelled) {
        const auto kept = weak.lock();
        if (kept && !cancelled && attempt == attempt_) tick();
    });
}

Node* Nodes::of_key(std::string_view key) {
    if (!in_cluster_) return masters_[0].get();
    const auto index = map_.of_slot[slot_of(key)];
    return index == SlotMap::nobody ? nullptr : masters_[index].get();
}

void Nodes::observe(Node& node, Micros said, bool passed_on) {
    if (node.clock.observe({said, node.link->asked_at(), store_clock_now(), passed_on})) hooks_.on_clock_step();
}

Duration Nodes::round_trip() const {
    Duration longest{0};
    for (const NodePointer& node : masters_)
        if (node) longest = std::max(longest, node->link->round_trip());
    return longest;
}

}  // namespace holdfast::redis_engine
