#include "sim/small_cluster.h"

#include "base/random.h"
#include "lease/rules.h"

namespace holdfast::sim {
namespace {

constexpr const char* resource = "r";
constexpr Duration ttl = 5min;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    return Random{a * 0x9e3779b97f4a7c15 + b}.next();
}

store::quorum::QuorumConfig config_of(unsigned node, store::quorum::BootNumber boot) {
    store::quorum::QuorumConfig config;
    config.node = static_cast<store::quorum::NodeIndex>(node);
    config.members = SmallCluster::nodes;
    config.boot = boot;
    config.longest_ttl = ttl;
    return config;
}

struct Names {
    std::string operator()(const store::quorum::Prepare&) const { return "Prepare"; }
    std::string operator()(const store::quorum::Accept&) const { return "Accept"; }
    std::string operator()(const store::quorum::Vote& vote) const {
        return std::string(vote.granted ? "" : "no ") + (vote.accepting ? "Accepted" : "Promise");
    }
    std::string operator()(const store::quorum::ReadRequest&) const { return "ReadRequest"; }
    std::string operator()(const store::quorum::ReadReply&) const { return "ReadReply"; }
};

}  // namespace

class SmallCluster::Deaf final : public store::StoreListener {
 public:
    void on_expired(std::string_view, const lease::Lease&, Duration) override {}
    void on_due(std::string_view, const std::vector<std::uint64_t>&) override {}
};

/// One acquire or, without a holder, one read.
class SmallCluster::Ask final : public store::Update {
 public:
    explicit Ask(std::string holder) : holder_(std::move(holder)) {}

    store::Effect apply(lease::Record& record, const lease::Neighbours& neighbours, Instant now) override {
        token_ = 0;
        if (holder_.empty()) {
            seen_ = record;
            return store::Effect::none;
        }
        lease::Claim claim;
        claim.holder = holder_;
        claim.ttl = ttl;
        claim.token = 1;
        claim.request = 1;
        const auto verdict = lease::acquire(record, neighbours, claim, now);
        if (const auto* granted = std::get_if<lease::Granted>(&verdict)) token_ = granted->lease->token;
        return token_ != 0 ? store::Effect::changed : store::Effect::none;
    }
    void done(Result<void> outcome) override {
        answered_ = true;
        if (!outcome) failed_ = true;
    }

    bool answered() const { return answered_; }
    bool failed() const { return failed_; }
    lease::Token token() const { return answered_ && !failed_ ? token_ : 0; }
    const lease::Record& seen() const { return seen_; }
    const std::string& holder() const { return holder_; }

 private:
    std::string holder_;
    lease::Record seen_;
    lease::Token token_ = 0;
    bool answered_ = false;
    bool failed_ = false;
};

SmallCluster::SmallCluster() : listener_(std::make_unique<Deaf>()) {
    for (unsigned node = 0; node < nodes; ++node) {
        places_[node].now = Instant{1000s * (node + 1)};
        start(node, Instant{});
    }
    introduce();
    for (unsigned asker = 0; asker < askers; ++asker) {
        asks_[asker] = std::make_unique<Ask>(asker == 0 ? "a" : "b");
        ask(asker, *asks_[asker]);
    }
}

SmallCluster::~SmallCluster() = default;

void SmallCluster::start(unsigned node, Instant silent_until) {
    Place& place = places_[node];
    place.store = std::make_unique<store::quorum::QuorumStore>(store::quorum::QuorumStore::Parts{
        .config = config_of(node, place.boot),
        .listener = *listener_,
        .hash_key = {1, 2},
        .seed = node,
        .silent_until = silent_until,
        .highest_token =
            place.boot > 1 ? lease::Token{1} << 40 : 0,  // the ceiling that its former incarnation wrote (Q11)
        .ballots_from = 0,
        .send = [this, node](store::quorum::Envelope envelope) {
            under_way_.emplace((std::uint64_t{node} << 32) + places_[node].sent++, std::move(envelope));
        }});
    place.store->advance(place.now);
    place.store->acceptor().raise_token_ceiling(lease::Token{1} << (place.boot > 1 ? 41 : 40));
}

void SmallCluster::introduce() {
    for (unsigned a = 0; a < nodes; ++a)
        for (unsigned b = 0; b < nodes; ++b)
            if (a != b) places_[a].store->set_peer(static_cast<store::quorum::NodeIndex>(b), places_[b].boot);
}

void SmallCluster::ask(unsigned node, Ask& ask) {
    places_[node].store->update(resource, ask);
}

bool SmallCluster::has_timer(unsigned node) const {
    const Place& place = places_[node];
    return node < askers && place.boot == 1 && !answered(node) && place.store->next_due() < place.now + 20s;
}

bool SmallCluster::answered(unsigned asker) const {
    return asks_[asker]->answered() || places_[asker].boot > 1;
}

bool SmallCluster::granted(unsigned asker) const {
    return asks_[asker]->token() != 0;
}

bool SmallCluster::all_answered() const {
    return answered(0) && answered(1);
}

std::uint64_t SmallCluster::after(std::uint64_t history, const Step& step) {
    return mix(history, mix(4 * step.node + static_cast<std::uint64_t>(step.kind) + 1, step.message));
}

std::uint64_t SmallCluster::state_after(const Step& step) const {
    std::uint64_t state = step.kind == Step::Kind::lose ? mix(lost_, step.message + 1) : lost_;
    for (unsigned node = 0; node < nodes; ++node) {
        const bool moved = step.kind == Step::Kind::crash || (step.kind != Step::Kind::lose && step.node == node);
        state = mix(state, moved ? after(places_[node].history, step) : places_[node].history);
    }
    return state;
}

std::uint64_t SmallCluster::state() const {
    std::uint64_t state = lost_;
    for (const Place& place : places_)
        state = mix(state, place.history);
    return state;
}

void SmallCluster::take(const Step& step) {
    Place& place = places_[step.node];
    if (step.kind == Step::Kind::lose) {
        lost_ = mix(lost_, step.message + 1);
        under_way_.erase(step.message);
        return;
    }
    for (unsigned node = 0; node < nodes; ++node)  // all nodes learn of a crash
        if (node == step.node || step.kind == Step::Kind::crash)
            places_[node].history = after(places_[node].history, step);
    if (step.kind == Step::Kind::deliver) {
        const store::quorum::Envelope envelope = std::move(under_way_.at(step.message));
        under_way_.erase(step.message);
        place.store->receive(envelope);
    } else if (step.kind == Step::Kind::fire) {
        place.now = std::max(place.now, place.store->next_due());
        place.store->advance(place.now);
    } else {
        place.store.reset();
        ++place.boot;
        start(step.node, place.now + config_of(step.node, place.boot).silence());
        introduce();
    }
}

std::optional<Violation> SmallCluster::violation() const {
    if (!granted(0) || !granted(1)) return std::nullopt;
    return Violation{"G2/Q1", "both were granted it: a with token " + std::to_string(asks_[0]->token()) +
                                  ", b with token " + std::to_string(asks_[1]->token())};
}

std::optional<Violation> SmallCluster::violation_at_end() {
    reader_ = std::make_unique<Ask>("");
    under_way_.clear();
    unsigned node = 0;
    while (places_[node].boot > 1)
        ++node;
    ask(node, *reader_);
    for (int turn = 0; turn < 100 && !reader_->answered(); ++turn) {
        while (!under_way_.empty()) {
            const auto first = under_way_.begin();
            take({Step::Kind::deliver, first->second.to, first->first});
        }
        if (!reader_->answered()) take({Step::Kind::fire, node, 0});
    }
    if (!reader_->answered() || reader_->failed())
        return Violation{"Q1", "a majority is there, and the register cannot be read"};
    for (const auto& ask : asks_)
        if (ask->token() != 0 && reader_->seen().find(ask->token()) == nullptr)
            return Violation{"Q1/Q6", "granted to " + ask->holder() + " with token " + std::to_string(ask->token()) +
                                          ", and a later read does not find it"};
    return std::nullopt;
}

std::string SmallCluster::describe(const Step& step) const {
    const std::string node = "node " + std::to_string(step.node);
    if (step.kind == Step::Kind::fire) return "the timer of " + node + " fires";
    if (step.kind == Step::Kind::crash) return node + " crashes and starts again";
    const store::quorum::Envelope& envelope = under_way_.at(step.message);
    return std::visit(Names{}, envelope.message) + " from node " + std::to_string(envelope.from) + " to node " +
           std::to_string(envelope.to) + (step.kind == Step::Kind::lose ? " is lost" : "");
}

}  // namespace holdfast::sim
