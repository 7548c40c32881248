#include "scenarios/agents_world.h"

#include <algorithm>

namespace holdfast::authority {
namespace {

constexpr Duration ttl = 15s;
constexpr Duration margin = 150ms;  // T3

lease::Policy patient() {
    lease::Policy policy;
    policy.wait_max = lease::limits::wait_ceiling;
    return policy;
}

}  // namespace

struct AgentsWorld::Actor {
    std::string id;
    lease::Priority priority = 0;
    std::uint64_t epoch = 1;
    std::uint64_t doing = 0;  // what was planned before it last changed its mind does not happen
    Instant stopped_until;    // as if by SIGSTOP
    std::vector<std::vector<lease::Intent>> plan;
    std::size_t phase = 0;
    std::vector<HoldingChecker::Holding> held;
    std::vector<HoldingChecker::Holding> left_behind;  // by the life before

    std::string session() const { return "life " + std::to_string(epoch); }
};

AgentsWorld::AgentsWorld(const Options& options) : options_(options), random_(options.seed), desk_(patient()) {
    for (std::size_t folder = 0; folder < options.folders; ++folder)
        for (std::size_t file = 0; file < options.files_per_folder; ++file)
            resources_.push_back("FILE:/f" + std::to_string(folder) + "/" + std::to_string(file));
    for (std::size_t i = 0; i < options.agents; ++i) {
        auto actor = std::make_unique<Actor>();
        actor->id = "agent" + std::to_string(i);
        later(*actor, between(0s, 30s), &AgentsWorld::begin_job);
        actors_.push_back(std::move(actor));
    }
    last_done_ = desk_.now;
}

AgentsWorld::~AgentsWorld() = default;

Duration AgentsWorld::between(Duration least, Duration most) {
    return least + Duration{static_cast<Duration::rep>(random_.unit() * static_cast<double>((most - least).count()))};
}

void AgentsWorld::later(Actor& actor, Duration delay, void (AgentsWorld::*action)(Actor&)) {
    at(desk_.now + delay, [this, &actor, action, doing = actor.doing] {
        if (actor.doing != doing) return;
        if (desk_.now < actor.stopped_until) return later(actor, actor.stopped_until - desk_.now, action);
        (this->*action)(actor);
    });
}

void AgentsWorld::run_for(Duration duration) {
    const Instant end = desk_.now + duration;
    while (!violation() && !stuck()) {
        const Instant next_action = agenda_.empty() ? Instant::max() : agenda_.begin()->first;
        const Instant next = std::min({next_action, desk_.store.next_due(), desk_.authority.next_deadline()});
        if (next > end) break;
        desk_.at(std::max(next, desk_.now));
        if (next_action > desk_.now) continue;
        const auto action = std::move(agenda_.begin()->second);
        agenda_.erase(agenda_.begin());
        action();
    }
}

Duration AgentsWorld::longest_as_oldest() const {
    return jobs_.empty() ? longest_as_oldest_ : std::max(longest_as_oldest_, desk_.now - oldest_since_);
}

/// Mostly some files to change or read; now and then a whole folder.
std::vector<lease::Intent> AgentsWorld::any_manifest() {
    std::vector<lease::Intent> intents;
    const std::uint64_t count = 1 + random_.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
        const double kind = random_.unit();
        const lease::Predicate predicate = kind < 0.5 ? lease::Predicate::mutates
                                           : kind < 0.9
                                               ? lease::Predicate::consumes
                                               : lease::all_predicates[random_.below(lease::all_predicates.size())];
        if (random_.unit() < 0.03)
            intents.push_back({"FILE:/f" + std::to_string(random_.below(options_.folders)) + "/**", predicate});
        else
            intents.push_back({resources_[random_.below(resources_.size())], predicate});
    }
    return *checked_manifest(std::move(intents));
}

void AgentsWorld::begin_job(Actor& actor) {
    actor.plan.clear();
    for (std::uint64_t left = 1 + random_.below(3); left > 0; --left)
        actor.plan.push_back(any_manifest());
    // Where something of an earlier life is still held or kept, the agent stays as old as it was.
    const lease::Priority priority = to_ms(desk_.now.time_since_epoch());
    if (options_.plain || desk_.agent(actor.id, priority, actor.epoch)) actor.priority = priority;
    if (jobs_.empty()) oldest_since_ = desk_.now;
    jobs_.emplace(actor.priority, actor.id);
    actor.phase = 0;
    ask(actor);
    later(actor, ttl / 3, &AgentsWorld::beat);
}

void AgentsWorld::ask(Actor& actor) {
    AcquireRequest asked = Desk::request(actor.id, actor.plan[actor.phase], options_.wait);
    asked.session = actor.session();
    asked.ttl = ttl;
    if (!options_.plain) asked.epoch = actor.epoch;
    const bool answered_at_once =
        desk_.authority.acquire(
            std::move(asked), [this, &actor, doing = actor.doing, epoch = actor.epoch](AcquireAnswer answer) {
                if (actor.doing == doing) return answered(actor, std::move(answer));
                // It crashed while it waited: what was granted to nobody ends by itself, unless its next life looks.
                if (auto* given = std::get_if<AcquireGranted>(&answer); given != nullptr && actor.epoch == epoch)
                    for (const HeldLease& held : given->leases)
                        desk_.unlock(actor.id, held.resource, held.lease.token);
            }) == 0;
    if (!answered_at_once) ++counts_.waits;
}

void AgentsWorld::answered(Actor& actor, AcquireAnswer answer) {
    if (auto* given = std::get_if<AcquireGranted>(&answer)) return granted(actor, std::move(*given));
    const auto* busy = std::get_if<AcquireBusy>(&answer);
    HOLDFAST_ASSERT(busy != nullptr);
    if (busy->code != Code::die) return later(actor, 1ms, &AgentsWorld::ask);  // its wait was over
    ++counts_.deaths;
    start_over(actor, busy->retry_in);
}

void AgentsWorld::granted(Actor& actor, AcquireGranted answer) {
    ++counts_.grants;
    for (const HeldLease& held : answer.leases) {
        actor.held.push_back({actor.id, actor.session(), held.resource, held.lease.predicate, held.lease.token,
                              held.lease.expires_at - margin});
        checker_.granted(actor.held.back(), desk_.now);
    }
    if (chance(0.01)) return stop_for_a_while(actor);
    if (chance(0.01)) return crash(actor, true);
    if (chance(0.005)) return crash(actor, false);
    later(actor, between(1s, 10s), &AgentsWorld::worked);
}

void AgentsWorld::worked(Actor& actor) {
    if (++actor.phase < actor.plan.size()) return ask(actor);
    finish(actor);
}

void AgentsWorld::finish(Actor& actor) {
    release_all(actor);
    ++counts_.jobs;
    const auto job = jobs_.find({actor.priority, actor.id});
    if (job == jobs_.begin()) {
        longest_as_oldest_ = longest_as_oldest();
        oldest_since_ = desk_.now;
    }
    jobs_.erase(job);
    last_done_ = desk_.now;
    actor.plan.clear();
    ++actor.doing;
    later(actor, between(0s, 20s), &AgentsWorld::begin_job);
}

/// Renews everything in one message. What it finds lost, or past its own deadline, ends the job.
void AgentsWorld::beat(Actor& actor) {
    const Instant now = desk_.now;
    bool lost = std::any_of(actor.held.begin(), actor.held.end(),
                            [&](const auto& holding) { return now >= holding.believed_until; });
    if (!lost && !actor.held.empty()) {
        RenewRequest renewal;
        renewal.holder = actor.id;
        if (!options_.plain) renewal.epoch = actor.epoch;
        for (const auto& holding : actor.held)
            renewal.leases.push_back({{holding.resource, holding.token}, {}});
        desk_.authority.renew(std::move(renewal), [&](const std::vector<RenewAnswer>& answers) {
            for (std::size_t i = 0; i < answers.size(); ++i) {
                const auto* renewed = std::get_if<RenewedLease>(&answers[i].result);
                lost |= renewed == nullptr;
                if (renewed == nullptr) continue;
                actor.held[i].believed_until = renewed->held.lease.expires_at - margin;
                checker_.renewed(actor.held[i], actor.held[i].believed_until);
            }
        });
    }
    if (!lost) return later(actor, ttl / 3, &AgentsWorld::beat);
    ++counts_.lost;
    start_over(actor, 1s);
}

void AgentsWorld::release_all(Actor& actor) {
    const auto held = std::move(actor.held);
    actor.held.clear();
    for (const auto& holding : held)
        checker_.let_go(holding.resource, holding.token);
    for (const auto& holding : held)
        desk_.unlock(actor.id, holding.resource, holding.token);
}

/// The same job from its beginning, as old as it was.
void AgentsWorld::start_over(Actor& actor, Duration delay) {
    ++actor.doing;
    ++actor.epoch;
    release_all(actor);
    actor.phase = 0;
    later(actor, delay, &AgentsWorld::ask);
    later(actor, delay + ttl / 3, &AgentsWorld::beat);
}

void AgentsWorld::stop_for_a_while(Actor& actor) {
    actor.stopped_until = desk_.now + between(5s, 40s);
    later(actor, between(1s, 10s), &AgentsWorld::beat);
    later(actor, between(1s, 10s), &AgentsWorld::worked);
}

void AgentsWorld::crash(Actor& actor, bool declared) {
    ++counts_.restarts;
    ++actor.doing;
    declared = declared && !options_.plain;
    if (declared) desk_.restarting(actor.id, actor.epoch);
    for (const auto& holding : actor.held) {
        const Instant expires_at = holding.believed_until + margin;
        if (declared)
            checker_.reserved(holding, expires_at + lease::limits::grace);
        else
            checker_.let_go(holding.resource, holding.token);  // nobody is left to believe in it
    }
    actor.left_behind = declared ? std::move(actor.held) : std::vector<HoldingChecker::Holding>{};
    actor.held.clear();
    later(actor, between(1s, 40s), &AgentsWorld::come_back);
}

/// A new life asks what is left of the one before, and resumes it if it is all there (R5).
void AgentsWorld::come_back(Actor& actor) {
    ++actor.epoch;
    bool all_there = !actor.left_behind.empty();
    desk_.authority.verify_all(actor.id, options_.plain ? std::nullopt : std::optional(actor.epoch),
                               [&](const Answer<std::vector<VerifyAnswer>>& answer) {
                                   const auto& found = std::get<std::vector<VerifyAnswer>>(answer);
                                   all_there &= found.size() == actor.left_behind.size();
                               });
    if (all_there) return resume(actor);
    if (!actor.left_behind.empty()) ++counts_.too_late;
    for (const auto& holding : actor.left_behind)
        checker_.let_go(holding.resource, holding.token);
    actor.phase = 0;
    ask(actor);
    later(actor, ttl / 3, &AgentsWorld::beat);
}

void AgentsWorld::resume(Actor& actor) {
    AcquireRequest asked = Desk::request(actor.id, {});
    for (const auto& holding : actor.left_behind)
        asked.intents.push_back({holding.resource, holding.predicate});
    asked.intents = *checked_manifest(std::move(asked.intents));
    asked.session = actor.session();
    asked.epoch = actor.epoch;
    asked.ttl = ttl;
    actor.left_behind.clear();
    later(actor, ttl / 3, &AgentsWorld::beat);
    const auto answer = desk_.ask(std::move(asked));
    HOLDFAST_ASSERT(answer.has_value());
    if (std::holds_alternative<AcquireGranted>(*answer)) ++counts_.resumed;
    answered(actor, std::move(*answer));
}

}  // namespace holdfast::authority
