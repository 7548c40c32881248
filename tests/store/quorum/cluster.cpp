#include "store/quorum/cluster.h"

#include <gtest/gtest.h>

namespace holdfast::store::quorum {

Cluster::Cluster(const Shape& shape) : shape_(shape) {
    for (std::size_t i = 0; i < shape.members; ++i) {
        nodes_.push_back(std::make_unique<Node>());
        if (i < shape.clocks.size()) nodes_[i]->clock = shape.clocks[i];
    }
    for (std::size_t i = 0; i < size(); ++i)
        start(i, {});
}

Cluster::~Cluster() {
    for (std::size_t i = 0; i < size(); ++i)
        if (up(i)) crash(i);
}

QuorumConfig Cluster::config(std::size_t node) const {
    QuorumConfig config;
    config.node = static_cast<NodeIndex>(node);
    config.members = shape_.members;
    config.boot = nodes_[node]->boot;
    config.longest_ttl = shape_.longest_ttl;
    config.rho = shape_.rho;
    if (shape_.tune) shape_.tune(config);
    return config;
}

void Cluster::start(std::size_t node, Instant silent_until) {
    Node& one = *nodes_[node];
    ++one.boot;
    one.store = std::make_unique<QuorumStore>(QuorumStore::Parts{
        .config = config(node),
        .listener = one,
        .hash_key = {1, 2},
        .seed = node + 100 * one.boot,
        .silent_until = silent_until,
        .highest_token = one.ceiling,
        .ballots_from = 0,
        .shown_wall_ms =
            [node](Instant instant) { return to_ms(instant.time_since_epoch()) + 1'000'000 * std::int64_t(node + 1); },
        .send = [this](Envelope envelope) { on_send(std::move(envelope)); }});
    one.store->advance(local_time(node));
    look_after_disk(node);
    introduce(node);
}

void Cluster::introduce(std::size_t node) {
    for (std::size_t other = 0; other < size(); ++other) {
        if (other == node || !up(other)) continue;
        store(node).set_peer(static_cast<NodeIndex>(other), nodes_[other]->boot);
        store(other).set_peer(static_cast<NodeIndex>(node), nodes_[node]->boot);
    }
}

Instant Cluster::local_time(std::size_t node) const {
    const Clock& clock = nodes_[node]->clock;
    const double run = static_cast<double>(elapsed_.count()) * clock.rate;
    return Instant{} + clock.ahead + Duration{static_cast<Duration::rep>(run)};
}

void Cluster::pass(Duration time) {
    const Duration end = elapsed_ + time;
    deliver();
    while (elapsed_ < end) {
        Duration step = end - elapsed_;
        for (std::size_t i = 0; i < size(); ++i) {
            if (!up(i)) continue;
            const Instant due = store(i).next_due();
            if (due == Instant::max()) continue;
            const auto left = static_cast<double>((due - local_time(i)).count()) / nodes_[i]->clock.rate;
            step = std::min(step, std::max<Duration>(1us, Duration{static_cast<Duration::rep>(left) + 1}));
        }
        elapsed_ += step;
        for (std::size_t i = 0; i < size(); ++i)
            if (up(i)) wake(i);
        deliver();
    }
}

void Cluster::wake(std::size_t node) {
    while (store(node).advance(local_time(node))) {
    }
    look_after_disk(node);
}

void Cluster::look_after_disk(std::size_t node) {
    if (disk_stalled) return;
    Node& one = *nodes_[node];
    while (const auto wanted = one.store->acceptor().wants_ceiling()) {
        one.ceiling = *wanted;
        one.store->acceptor().raise_token_ceiling(*wanted);
    }
}

void Cluster::on_send(Envelope envelope) {
    ++sent;
    if (is_cut(envelope.from, envelope.to)) return;
    switch (fate ? fate(envelope) : Fate::deliver) {
        case Fate::lose:
            return;
        case Fate::hold:
            held.push_back(std::move(envelope));
            return;
        case Fate::twice:
            flying.push_back(envelope);
            [[fallthrough]];
        case Fate::deliver:
            flying.push_back(std::move(envelope));
    }
}

bool Cluster::deliver_one() {
    if (flying.empty()) return false;
    const Envelope envelope = std::move(flying.front());
    flying.pop_front();
    if (!up(envelope.to) || is_cut(envelope.from, envelope.to)) return true;
    wake(envelope.to);
    store(envelope.to).receive(envelope);
    look_after_disk(envelope.to);
    return true;
}

void Cluster::deliver() {
    while (deliver_one()) {
    }
}

void Cluster::let_go() {
    for (Envelope& envelope : held)
        flying.push_back(std::move(envelope));
    held.clear();
}

void Cluster::cut(std::size_t a, std::size_t b, bool is_cut) {
    cuts_[std::minmax(a, b)] = is_cut;
}

void Cluster::cut_off(std::size_t node, bool is_cut) {
    for (std::size_t other = 0; other < size(); ++other)
        if (other != node) cut(node, other, is_cut);
}

bool Cluster::is_cut(std::size_t a, std::size_t b) const {
    const auto found = cuts_.find(std::minmax(a, b));
    return found != cuts_.end() && found->second;
}

void Cluster::crash(std::size_t node) {
    store(node).stop();
    nodes_[node]->store.reset();
}

void Cluster::start_again(std::size_t node) {
    start(node, local_time(node) + config(node).silence());
}

void Cluster::restart_cleanly(std::size_t node) {
    struct Saved {
        std::string resource;
        RegisterBallots ballots;
        lease::Record record;
    };
    std::vector<Saved> saved;
    store(node).acceptor().for_each_register(
        [&](std::string_view resource, const RegisterBallots& ballots, const lease::Record& record) {
            saved.push_back({std::string(resource), ballots, record});
        });
    const Ballot forgotten = store(node).acceptor().forgotten();
    crash(node);
    start(node, {});
    store(node).acceptor().restore_forgotten(forgotten);
    for (const Saved& one : saved)
        store(node).acceptor().restore(one.resource, one.ballots, one.record);
}

Promised<lease::Token> Cluster::acquire(std::size_t node, const std::string& resource, const Ask& ask) {
    return apply(node, resource,
                 [ask](lease::Record& record, const lease::Neighbours& neighbours,
                       Instant now) -> authority::Ruling<lease::Token> {
                     lease::Claim claim;
                     claim.holder = ask.holder;
                     claim.session = ask.session;
                     claim.predicate = ask.predicate;
                     claim.ttl = ask.ttl;
                     const auto verdict = lease::acquire(record, neighbours, claim, now);
                     if (const auto* granted = std::get_if<lease::Granted>(&verdict))
                         return {granted->lease->token, Effect::changed};
                     return {lease::Token{0}, Effect::none};
                 });
}

Promised<bool> Cluster::renew(std::size_t node, const std::string& resource, lease::Token token,
                              const std::string& holder) {
    return apply(node, resource, [=](lease::Record& record, Instant now) -> authority::Ruling<bool> {
        lease::Renewal renewal;
        renewal.token = token;
        renewal.holder = holder;
        renewal.resource = resource;
        const bool renewed =
            std::holds_alternative<lease::Renewed>(lease::renew(record, renewal, lease::Policy{}, now));
        return {renewed, renewed ? Effect::changed : Effect::none};
    });
}

Promised<bool> Cluster::release(std::size_t node, const std::string& resource, lease::Token token,
                                const std::string& holder) {
    return apply(node, resource, [=](lease::Record& record, Instant now) -> authority::Ruling<bool> {
        const bool released = std::holds_alternative<lease::Released>(lease::release(record, token, holder, now));
        return {released, released ? Effect::freed : Effect::none};
    });
}

Promised<bool> Cluster::wait(std::size_t node, const std::string& resource, std::uint64_t request, bool agent) {
    return apply(node, resource, [=](lease::Record& record, Instant now) -> authority::Ruling<bool> {
        lease::Claim claim;
        const std::string holder = "waiter-" + std::to_string(request);
        claim.holder = holder;
        claim.session = "one";
        claim.request = request;
        claim.agent = agent;
        claim.priority = static_cast<lease::Priority>(request);
        return {!lease::enqueue(record, claim, now + 1h), Effect::changed};
    });
}

Promised<lease::LeaseState> Cluster::state(std::size_t node, const std::string& resource, lease::Token token) {
    return apply(node, resource, [=](lease::Record& record, Instant now) -> authority::Ruling<lease::LeaseState> {
        return {lease::verify(record, token, now).state, Effect::none};
    });
}

Promised<lease::Record> Cluster::read(std::size_t node, const std::string& resource) {
    return apply(node, resource, [](lease::Record& record, Instant now) -> authority::Ruling<lease::Record> {
        lease::settle(record, now);
        return {record, Effect::none};
    });
}

lease::Token Cluster::acquired(std::size_t node, const std::string& resource, const Ask& ask) {
    const auto later = acquire(node, resource, ask);
    for (int i = 0; i < 100 && !later->done; ++i)
        pass(20ms);
    EXPECT_TRUE(later->done && later->value) << later->error;
    return later->value.value_or(0);
}

void Cluster::Node::on_expired(std::string_view resource, const lease::Lease& lease, Duration late) {
    if (other != nullptr) other->on_expired(resource, lease, late);
    told.push_back("expired " + lease::to_string(lease::LeaseName{std::string(resource), lease.token}));
}

void Cluster::Node::on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) {
    if (other != nullptr) other->on_due(resource, waiters);
    std::string line = "due " + std::string(resource);
    for (const std::uint64_t id : waiters)
        line += " " + std::to_string(id);
    told.push_back(line);
}

}  // namespace holdfast::store::quorum
