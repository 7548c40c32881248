#include "client/agent/work_core.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/code.h"
#include "client/acquiring.h"

namespace holdfast {

namespace {

using Action = client::agent::IntentMachine::Action;

constexpr std::chrono::milliseconds max_patience = 24h * 365;

Failure uncertain() {
    return {.outcome = Outcome::uncertain, .code = "uncertain", .message = "a renewal of the lease failed"};
}

Failure ran_out() {
    return {.outcome = Outcome::lost, .code = "lease_expired", .message = "the lease ran out by this holder's clock"};
}
}  // namespace

Work::Core::Core(Agent::Core& agent, std::vector<Intent> intents, const WorkOptions& options)
    : agent_(agent), intents_(std::move(intents)), options_(options), machine_(options.on_die, Random(random_seed())) {}

/// Runs also when the program's function has thrown: the callbacks must end before the members they use are destroyed.
Work::Core::~Core() {
    const Lease ended = take_lease();
}

Performed Work::Core::run(const std::function<bool(Work&)>& function) {
    have_patience();
    if (!drive(act(Action::plan))) return finish();
    Work work(*this);
    const bool done = function(work);
    if (!over_) drive(client::agent::IntentMachine::WorkEnded{done, held()});
    return finish();
}

bool Work::Core::go_on() {
    if (over_) return false;
    if (auto why = stopped()) return drive(client::agent::IntentMachine::Stopped{std::move(why)});
    auto trouble = take_trouble();
    if (!trouble && held()) return true;
    have_patience();
    return drive(
        client::agent::IntentMachine::Troubled{trouble ? *trouble : ran_out(), holder_clock_now() - acquired_at_});
}

bool Work::Core::drive(Event event) {
    for (;;) {
        const IntentState from = machine_.state();
        const Action action = machine_.on(event);
        if (machine_.why()) last_why_ = machine_.why();
        tell(from, action);
        over_ = action == Action::finish;
        if (over_ || action == Action::work) return !over_;
        event = act(action);
    }
}

Work::Core::Event Work::Core::act(Action action) {
    if (auto why = stopped()) return client::agent::IntentMachine::Stopped{std::move(why)};
    const bool begun = last_why_.has_value();  // even with zero patience everything is tried once
    if (begun && patience_left() <= Duration::zero()) return client::agent::IntentMachine::Stopped{last_why_};
    switch (action) {
        case Action::plan:
            return plan();
        case Action::begin_life:
            return begin_life();
        case Action::ask:
            return ask(Duration::zero());
        case Action::wait_for_turn:
            return ask(patience_left());
        case Action::rest:
            return rest();
        case Action::pause:
            return client::agent::IntentMachine::WorkPaused{};
        case Action::verify:
            return verify();
        case Action::work:
        case Action::finish:
            break;
    }
    return client::agent::IntentMachine::Stopped{};
}

Work::Core::Event Work::Core::plan() {
    auto failure = agent_.start();
    if (!failure) failure = agent_.save_pending(intents_);
    if (failure) return client::agent::IntentMachine::Denied{std::move(*failure)};
    return client::agent::IntentMachine::Planned{};
}

Work::Core::Event Work::Core::begin_life() {
    if (auto failure = agent_.begin_next_life()) return client::agent::IntentMachine::Denied{std::move(*failure)};
    return client::agent::IntentMachine::Planned{};
}

/// The session is the same in all incarnations, so that an earlier one does not conflict. The leases it left behind are
/// released only once their resources are held again, so that no other holder can get in between (R5).
Work::Core::Event Work::Core::ask(Duration wait) {
    drop_lease();
    client::Acquiring acquiring(agent_.client, intents_,
                                {.ttl = options_.ttl,
                                 .wait = client::whole_ms(wait),
                                 .reason = options_.reason,
                                 .metadata = options_.metadata,
                                 .name_space = options_.name_space,
                                 .session = agent_.digest().session,
                                 .stop = options_.stop});
    acquiring.observe({agent_.asks, [this](const Failure& failure) { return tell_of_trouble_with_asking(failure); }});
    auto acquired = acquiring.run();
    if (auto why = stopped(); why && !acquired) return client::agent::IntentMachine::Stopped{std::move(why)};
    if (!acquired) return client::agent::IntentMachine::Denied{acquired.failure()};
    take(std::move(acquired.lease()));
    agent_.let_go_of_left_behind();
    return client::agent::IntentMachine::Granted{};
}

Work::Core::Event Work::Core::rest() {
    const HolderInstant now = holder_clock_now();
    agent_.sleep_until(std::min(now + machine_.delay(), std::max(patience_end_, now)), options_.stop);
    return client::agent::IntentMachine::Rested{};
}

Work::Core::Event Work::Core::verify() {
    using Word = client::agent::IntentMachine::Verified::Word;
    const auto verified = agent_.verify();
    const bool still_held = held();
    if (!verified) {
        const Failure why = to_failure(verified.error());
        return client::agent::IntentMachine::Verified{
            verified.error().code == Code::stale_epoch ? Word::superseded : Word::none, still_held, why};
    }
    const auto is_active = [&](const Grant& grant) {
        return std::ranges::any_of(*verified, [&](const client::VerifiedLease& lease) {
            return lease.id == grant.id && lease.state == "ACTIVE";
        });
    };
    const bool active = std::ranges::all_of(grants(), is_active);
    return client::agent::IntentMachine::Verified{active ? Word::active : Word::gone, still_held,
                                                  last_why_.value_or(ran_out())};
}

/// Unfinished intents stay pending, unless the program itself gave up. Before a restart nothing is released (R5).
Performed Work::Core::finish() {
    Performed performed{machine_.state(), machine_.why()};
    Lease ended = take_lease();
    if (agent_.restarting() && !performed) {
        ended.abandon();
        return performed;
    }
    if (performed || !performed.why) {
        if (auto failure = agent_.save_pending({})) performed.why = std::move(failure);
    }
    ended.release();
    agent_.let_go_of_left_behind();
    return performed;
}

void Work::Core::tell(IntentState from, Action action) const {
    const IntentState to = machine_.state();
    if (!options_.on_step || (from == to && !machine_.why())) return;
    options_.on_step({from, to, machine_.why(), action == Action::rest ? client::whole_ms(machine_.delay()) : 0ms});
}

/// During an acquire the machine gets no events; failures are reported to the program only.
bool Work::Core::tell_of_trouble_with_asking(const Failure& failure) const {
    if (stopped()) return false;
    if (options_.on_step) options_.on_step({IntentState::acquiring, IntentState::acquiring, failure, 0ms});
    return true;
}

void Work::Core::take(Lease lease) {
    acquired_at_ = holder_clock_now();
    {
        const std::lock_guard lock(mutex_);
        lease_ = std::move(lease);
        grants_ = lease_.grants();
        trouble_.reset();
        if (progress_) lease_.progress(*progress_);
    }
    lease_.on_change([this](Outcome outcome) {
        if (outcome == Outcome::uncertain)
            note_trouble(uncertain());
        else
            note_renewal();
    });
    lease_.on_lost([this](const Failure& failure) { note_trouble(failure); });
}

/// The server may still have the lease, even if it is over by this holder's clock: it is released with the other leases
/// left behind.
void Work::Core::drop_lease() {
    Lease dropped = take_lease();
    agent_.leave_behind(dropped.grants());
    dropped.abandon();
}

/// A lease must be destroyed without the lock held: its destructor waits for its callbacks, which take the lock.
Lease Work::Core::take_lease() {
    const std::lock_guard lock(mutex_);
    return std::move(lease_);
}

void Work::Core::note_trouble(const Failure& why) {
    {
        const std::lock_guard lock(mutex_);
        trouble_ = why;
    }
    if (options_.on_pause) options_.on_pause();
}

void Work::Core::note_renewal() {
    const std::lock_guard lock(mutex_);
    if (trouble_ && trouble_->outcome == Outcome::uncertain) trouble_.reset();
}

std::optional<Failure> Work::Core::take_trouble() {
    const std::lock_guard lock(mutex_);
    return std::exchange(trouble_, std::nullopt);
}

std::optional<Failure> Work::Core::stopped() const {
    if (auto why = agent_.stopped()) return why;
    if (!options_.stop.stop_requested()) return std::nullopt;
    return Failure{.outcome = Outcome::cancelled, .code = "cancelled", .message = "the program broke the work off"};
}

bool Work::Core::held() const noexcept {
    const std::lock_guard lock(mutex_);
    return lease_.held();
}

std::vector<Grant> Work::Core::grants() const {
    const std::lock_guard lock(mutex_);
    return grants_;
}

void Work::Core::progress(std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    progress_ = count;
    lease_.progress(count);
}

void Work::Core::have_patience() {
    patience_end_ = holder_clock_now() + std::clamp<std::chrono::milliseconds>(options_.patience, 0ms, max_patience);
    last_why_.reset();
}

Duration Work::Core::patience_left() const {
    return std::max(patience_end_ - holder_clock_now(), Duration::zero());
}

}  // namespace holdfast
