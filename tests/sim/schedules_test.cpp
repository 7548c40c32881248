// Some rules of the quorum are each a second reason why nothing goes wrong, or are needed too seldom for a world to
// show it. Here is, message by message, what happens when all that stand in the way of it are switched off, and that
// any one of them is enough.

#include <deque>
#include <gtest/gtest.h>

#include "lease/rules.h"
#include "sim/mutants.h"
#include "sim/true_time.h"
#include "store/quorum/quorum_store.h"

namespace holdfast::sim {
namespace {

constexpr const char* resource = "r";
constexpr store::quorum::NodeIndex nodes = 3;

class Deaf final : public store::StoreListener {
 public:
    void on_expired(std::string_view, const lease::Lease&, Duration) override {}
    void on_due(std::string_view, const std::vector<std::uint64_t>&) override {}
};

/// Asks for the resource. Without a holder it only looks.
class Ask final : public store::Update {
 public:
    Ask(std::string who, Duration how_long) : holder_(std::move(who)), ttl_(how_long) {}

    store::Effect apply(lease::Record& record, const lease::Neighbours& neighbours, Instant now) override {
        seen = record;
        token_ = 0;
        if (holder_.empty()) return store::Effect::none;
        lease::Claim claim;
        claim.holder = holder_;
        claim.ttl = ttl_;
        claim.token = 1;
        claim.request = 1;
        const auto verdict = lease::acquire(record, neighbours, claim, now);
        if (const auto* given = std::get_if<lease::Granted>(&verdict)) token_ = given->lease->token;
        return token_ != 0 ? store::Effect::changed : store::Effect::none;
    }
    void done(Result<void> outcome) override { granted = outcome && token_ != 0; }

    bool granted = false;
    lease::Record seen;

 private:
    std::string holder_;
    Duration ttl_;
    lease::Token token_ = 0;
};

/// Three nodes. Every message, clock and crash is in the test's hand.
class Stage {
 public:
    Stage() {
        for (store::quorum::NodeIndex node = 0; node < nodes; ++node)
            start(node, Instant{});
        introduce();
    }

    void ask(store::quorum::NodeIndex node, Ask& ask) { places_[node].store->update(resource, ask); }

    /// Takes the messages of this kind from one node to another out of what is under way.
    template <class Kind>
    std::vector<store::quorum::Envelope> take(store::quorum::NodeIndex from, store::quorum::NodeIndex to) {
        std::vector<store::quorum::Envelope> taken;
        std::erase_if(under_way_, [&](const store::quorum::Envelope& envelope) {
            const bool is =
                envelope.from == from && envelope.to == to && std::holds_alternative<Kind>(envelope.message);
            if (is) taken.push_back(envelope);
            return is;
        });
        return taken;
    }
    void deliver(const std::vector<store::quorum::Envelope>& envelopes) {
        for (const store::quorum::Envelope& envelope : envelopes)
            places_[envelope.to].store->receive(envelope);
    }
    void lose_all() { under_way_.clear(); }

    /// These two talk until nothing is left to say; what is for the third is lost.
    void let_talk(store::quorum::NodeIndex a, store::quorum::NodeIndex b, Duration time = 2s) {
        for (const Instant end = now_ + time; now_ < end; pass(1ms))
            while (!under_way_.empty()) {
                const store::quorum::Envelope next = under_way_.front();
                under_way_.pop_front();
                const bool between = (next.from == a && next.to == b) || (next.from == b && next.to == a);
                if (between) deliver({next});
            }
    }

    void pass(Duration time) {
        now_ += time;
        for (const Place& place : places_)
            place.store->advance(now_);
    }

    void crash(store::quorum::NodeIndex node) {
        Place& place = places_[node];
        ++place.boot;
        start(node, now_ + config(node).silence());
        introduce();
    }

 private:
    static constexpr lease::Token ceiling = lease::Token{1} << 40;
    struct Place {
        std::unique_ptr<store::quorum::QuorumStore> store;
        store::quorum::BootNumber boot = 1;
    };

    store::quorum::QuorumConfig config(store::quorum::NodeIndex node) const {
        store::quorum::QuorumConfig made;
        made.node = node;
        made.members = nodes;
        made.boot = places_[node].boot;
        made.longest_ttl = 10s;
        return made;
    }
    void start(store::quorum::NodeIndex node, Instant silent_until) {
        const bool lost = silent_until > Instant{};
        auto store = std::make_unique<store::quorum::QuorumStore>(store::quorum::QuorumStore::Parts{
            .config = config(node),
            .listener = deaf_,
            .hash_key = {1, 2},
            .seed = node,
            .silent_until = silent_until,
            .highest_token = lost ? ceiling : 0,
            // The first one has counted further than the others.
            .ballots_from = lost        ? ceiling
                            : node == 0 ? 1000U
                                        : 0U,
            .send = [this](store::quorum::Envelope envelope) { under_way_.push_back(std::move(envelope)); }});
        store->advance(now_);
        store->acceptor().raise_token_ceiling(2 * ceiling);
        places_[node].store = std::move(store);
    }
    void introduce() {
        for (store::quorum::NodeIndex a = 0; a < nodes; ++a)
            for (store::quorum::NodeIndex b = 0; b < nodes; ++b)
                if (a != b) places_[a].store->set_peer(b, places_[b].boot);
    }

    Deaf deaf_;
    Instant now_{1000s};
    std::deque<store::quorum::Envelope> under_way_;
    std::array<Place, nodes> places_;
};

/// Plays it with every choice of these rules switched off; it goes wrong with all of them off, and only then.
void goes_wrong_only_without(const std::vector<std::string>& rules, const std::function<bool()>& goes_wrong) {
    for (unsigned off = 0; off < 1U << rules.size(); ++off) {
        std::string names;
        for (std::size_t i = 0; i < rules.size(); ++i)
            if ((off >> i & 1U) != 0) names += (names.empty() ? "" : "+") + rules[i];
        set_mutant(names);
        EXPECT_EQ(goes_wrong(), off + 1 == 1U << rules.size()) << "without: " << names;
    }
    set_mutant({});
}

/// A promise comes when who gave it has forgotten it, has been silent for as long as it must, and has helped another to
/// a lease under a lower ballot. It is counted, and the Accept is for who lives now.
TEST(Schedule, of_a_promise_that_is_counted_long_after_it_was_asked_for) {  // Q3, Q10, Q12
    goes_wrong_only_without({"deadline_from_promise", "former_life_heard", "ceiling_not_promised"}, [] {
        Ask first("a", 10s), second("b", 10s);
        Stage stage;
        stage.ask(0, first);
        stage.deliver(stage.take<store::quorum::Prepare>(0, 1));
        const auto promise = stage.take<store::quorum::Vote>(1, 0);
        stage.lose_all();
        stage.crash(1);
        stage.pass(12s);
        stage.lose_all();
        stage.ask(2, second);
        stage.let_talk(1, 2);
        stage.deliver(promise);
        stage.let_talk(0, 1, 50ms);
        return first.granted && second.granted;
    });
}

/// An Accept of an abandoned attempt comes when its acceptor has forgotten that it has promised, and accepted,
/// something else since. The ghost of the short lease takes the place of the one that is at work, ends, and lets a
/// third in.
TEST(Schedule, of_an_accept_that_was_meant_for_a_former_life) {  // Q10, Q12
    goes_wrong_only_without({"former_life_heard", "ceiling_not_promised"}, [] {
        Ask first("a", 1s), second("b", 10s), third("c", 1s);
        Stage stage;
        stage.ask(0, first);
        stage.deliver(stage.take<store::quorum::Prepare>(0, 1));
        stage.deliver(stage.take<store::quorum::Vote>(1, 0));
        const auto accept = stage.take<store::quorum::Accept>(0, 1);
        EXPECT_EQ(accept.size(), 1U);
        stage.lose_all();
        stage.crash(0);
        stage.crash(1);
        stage.pass(12s);
        stage.lose_all();
        stage.ask(2, second);
        stage.let_talk(1, 2);
        EXPECT_TRUE(second.granted);
        stage.deliver(accept);
        stage.pass(1200ms);
        stage.lose_all();
        stage.ask(0, third);
        stage.let_talk(0, 1);
        return third.granted;
    });
}

/// An acceptor has promised a high ballot and forgotten it. With its help another takes a lease under a lower one; and
/// who looks next takes the high one, which a single acceptor has accepted, for what was chosen last.
TEST(Schedule, of_a_register_that_is_taken_under_a_lower_ballot_than_before) {  // Q10
    goes_wrong_only_without({"ceiling_not_promised"}, [] {
        Ask first("a", 1s), second("b", 10s), third("c", 1s);
        Stage stage;
        stage.ask(0, first);
        stage.deliver(stage.take<store::quorum::Prepare>(0, 1));
        stage.deliver(stage.take<store::quorum::Vote>(1, 0));
        stage.lose_all();
        stage.crash(1);
        stage.pass(12s);
        stage.lose_all();
        stage.ask(2, second);
        stage.let_talk(1, 2);
        EXPECT_TRUE(second.granted);
        stage.ask(0, third);
        stage.let_talk(0, 1);
        return third.granted;
    });
}

/// A node that has started again takes the number that its former life has an Accept under way with. Both acceptors
/// hear that one first, and take the new one, of the same ballot, for what they have already.
TEST(Schedule, of_a_ballot_that_two_lives_use) {  // Q2, Q12
    goes_wrong_only_without({"ballots_reused", "former_life_heard"}, [] {
        Ask first("a", 10s), second("b", 10s), look("", 0s);
        Stage stage;
        stage.ask(0, first);
        stage.deliver(stage.take<store::quorum::Prepare>(0, 2));
        stage.deliver(stage.take<store::quorum::Vote>(2, 0));
        auto accepts = stage.take<store::quorum::Accept>(0, 1);
        for (const store::quorum::Envelope& one : stage.take<store::quorum::Accept>(0, 2))
            accepts.push_back(one);
        EXPECT_EQ(accepts.size(), 2U);
        stage.lose_all();
        stage.crash(0);
        stage.ask(0, second);
        for (const store::quorum::NodeIndex other : {store::quorum::NodeIndex{1}, store::quorum::NodeIndex{2}})
            stage.deliver(stage.take<store::quorum::Prepare>(0, other));
        for (const store::quorum::NodeIndex other : {store::quorum::NodeIndex{1}, store::quorum::NodeIndex{2}})
            stage.deliver(stage.take<store::quorum::Vote>(other, 0));
        stage.deliver(accepts);
        for (const store::quorum::NodeIndex other : {store::quorum::NodeIndex{1}, store::quorum::NodeIndex{2}})
            stage.deliver(stage.take<store::quorum::Accept>(0, other));
        for (const store::quorum::NodeIndex other : {store::quorum::NodeIndex{1}, store::quorum::NodeIndex{2}})
            stage.deliver(stage.take<store::quorum::Vote>(other, 0));
        EXPECT_TRUE(second.granted);
        stage.lose_all();
        stage.ask(2, look);
        stage.let_talk(1, 2);
        return look.seen.leases.size() != 1 || look.seen.leases[0].holder != "b";
    });
}

}  // namespace
}  // namespace holdfast::sim
