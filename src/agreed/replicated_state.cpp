#include "agreed/replicated_state.h"

#include <algorithm>
#include <utility>

#include "agreed/agreed_state.h"
#include "agreed/replicated_policy.h"
#include "authority/authority.h"
#include "base/alive.h"
#include "base/random.h"
#include "consensus/replicated_log.h"
#include "election/candidate.h"

namespace holdfast::agreed {

std::vector<std::string> recorded_members(const std::vector<std::string>& members) {
    return members.size() == 1 ? std::vector<std::string>{"alone"} : members;
}

std::vector<FoundingEntry> founding_entries(const Founding& founding, std::uint64_t policy_version,
                                            const std::function<std::uint64_t()>& next_id) {
    std::vector<FoundingEntry> entries;
    const auto add = [&](const ClusterCommand& command) {
        const std::uint64_t id = next_id();
        entries.push_back({id, encode_command({id, std::nullopt}, command)});
    };
    add(PolicyCommand{policy_version, lease::Policy{}, founding.policy});
    add(MembersCommand{founding.members});
    return entries;
}

consensus::LogWrite founding_alone(const Founding& founding, std::uint64_t first_id) {
    consensus::LogWrite write;
    write.promised = consensus::LogBallot{1, 0};
    for (FoundingEntry& entry : founding_entries(founding, 0, [&] { return first_id++; }))
        write.decrees.push_back({write.decrees.size() + 1, *write.promised, std::move(entry.value)});
    write.committed = write.decrees.size();
    return write;
}

namespace {

constexpr std::string_view group = "log";

std::string id_of(const std::string& member) {
    return member.substr(0, member.find('='));
}

Error not_available(std::string why) {
    return {"unavailable", std::move(why)};
}

}  // namespace

using consensus::LogIndex;

struct ReplicatedState::Impl {
    explicit Impl(Parts given);

    Result<void> check() const;
    void report(const Error& error) const {
        if (parts.on_failure) parts.on_failure(error);
    }

    /// An answer of the disk may have changed the agreed state, so it is delivered afterwards.
    class Disk final : public consensus::LogDisk {
     public:
        explicit Disk(Impl& impl) : impl_(impl) {}
        void write(consensus::LogWrite write, Callback<Result<void>> done) override;

     private:
        Impl& impl_;
    };

    // ---- commands ----
    std::optional<Error> refusal() const;
    void append(std::string entry, Callback<Result<void>> done);
    void stop();
    void save_policy(const std::optional<store::AuditEntry>& audit, const lease::Policy& policy,
                     Callback<Result<void>> done);

    // ---- delivery of the agreed state to this node ----
    void deliver();
    void on_local_told(const Result<void>& told);

    const ClusterState& state() const { return agreed.state(); }

    // ---- the first entries of a cluster's log ----
    void found_if_needed();

    Parts parts;
    std::vector<std::string> members;
    bool stopped = false;
    std::optional<Error> trouble;

    std::vector<Callback<Result<void>>> until_complete;

    AgreedState agreed;
    std::optional<PolicyInForce> policy;
    Disk disk{*this};
    std::optional<consensus::ReplicatedLog> log;
    std::size_t founding_under_way = 0;

    authority::Authority* authority = nullptr;
    std::optional<election::Candidate> candidate;
    Alive alive;
};

ReplicatedState::Impl::Impl(Parts given)
    : parts(std::move(given)),
      members(recorded_members(parts.members)),
      agreed({.append = [this](std::string entry,
                               Callback<Result<void>> done) { append(std::move(entry), std::move(done)); },
              .refusal = [this] { return refusal(); },
              .on_policy =
                  [this] {
                      policy->agree(state().policy());
                      authority->take_policy(policy->in_force());
                  },
              .on_failure = [this](const Error& error) { report(error); },
              .first_id = Random(parts.seed).next()}) {
    log.emplace(consensus::ReplicatedLog::Parts{
        .node = parts.node,
        .members = static_cast<std::uint8_t>(members.size()),
        .disk = disk,
        .found = std::move(parts.found),
        .seed = parts.seed,
        .entries_before_snapshot = parts.entries_before_snapshot,
        .send = [this](store::quorum::NodeIndex to,
                       consensus::LogMessage message) { parts.send(to, std::move(message)); },
        .apply =
            [this](LogIndex index, const std::string& value) {
                agreed.apply(index, value);
                if (parts.on_applied) parts.on_applied(index, value);
            },
        .take_snapshot = [this] { return agreed.snapshot(); },
        .install =
            [this](const std::string& snapshot) {
                if (const auto installed = agreed.install(snapshot); !installed) trouble = installed.error();
            }});
    agreed.delivered();  // the authority starts with it
    policy.emplace(
        PolicyInForce::Parts{.local = parts.local,
                             .local_ttl_max = parts.local_ttl_max,
                             // Until a cluster's log is founded, the policy that it will be founded with is in force.
                             .agreed = state().members().empty() ? parts.first_policy : state().policy(),
                             .on_told = [this](const Result<void>& told) { on_local_told(told); }});
}

Result<void> ReplicatedState::Impl::check() const {
    if (trouble) return *trouble;
    if (state().trouble()) return *state().trouble();
    if (state().members() == members || state().members().empty()) return {};
    if (state().members().size() != 1 && members.size() != 1) return state().check_members(members);
    return Error{"members_differ",
                 members.size() == 1
                     ? "this state directory is that of a member of a cluster; start it with the same --peers"
                     : "this state directory is that of a single node, which cannot become a member of a cluster with "
                       "what it holds; give the member a directory of its own"};
}

void ReplicatedState::Impl::Disk::write(consensus::LogWrite write, Callback<Result<void>> done) {
    impl_.parts.disk->write(std::move(write),
                            impl_.alive.guard([&impl = impl_, done = std::move(done)](Result<void> outcome) mutable {
                                if (outcome && impl.parts.on_written) impl.parts.on_written();
                                done(std::move(outcome));
                                impl.deliver();
                            }));
}

// ---- commands ----

std::optional<Error> ReplicatedState::Impl::refusal() const {
    if (stopped) return not_available("this node is stopping");
    if (trouble) return not_available(trouble->message);
    if (state().members().empty()) return not_available("the cluster has not yet come together; try again in a while");
    return std::nullopt;
}

void ReplicatedState::Impl::append(std::string entry, Callback<Result<void>> done) {
    log->append(std::move(entry), [done = std::move(done)](const Result<LogIndex>& at) mutable {
        if (at) return done({});
        done(at.error().code == "storage_failed" ? at.error() : not_available(at.error().message));
    });
}

/// Answers all waiting callers now, since the log will not answer any more.
void ReplicatedState::Impl::stop() {
    candidate.reset();
    if (std::exchange(stopped, true)) return;
    const Error stopping = not_available("this node is stopping; what became of this is not known");
    agreed.stop(stopping);
    for (Callback<Result<void>>& waiting : std::exchange(until_complete, {}))
        waiting(stopping);
    parts.disk->stop();
}

void ReplicatedState::Impl::save_policy(const std::optional<store::AuditEntry>& audit, const lease::Policy& changed,
                                        Callback<Result<void>> done) {
    // The change was made from a policy whose TTLs differ from those agreed on.
    if (!policy->complete()) {
        until_complete.push_back([done = std::move(done)](const Result<void>& told) mutable {
            done(told ? Result<void>(Error{"conflict", "the policy has been changed meanwhile"}) : told);
        });
        return;
    }
    const PolicyCommand change{agreed.shown_version(), policy->agreed(), changed};
    agreed.submit_policy(audit, change, [this, done = std::move(done)](Result<void> saved) mutable {
        if (!saved || policy->complete()) return done(std::move(saved));
        until_complete.push_back(std::move(done));
    });
}

// ---- delivery of the agreed state to this node ----

void ReplicatedState::Impl::deliver() {
    agreed.deliver();
    if (!trouble && state().trouble()) trouble = state().trouble();
}

void ReplicatedState::Impl::on_local_told(const Result<void>& told) {
    if (!told) report(told.error());
    if (told && authority != nullptr) authority->take_policy(policy->in_force());
    if (told && !policy->complete()) return;
    for (Callback<Result<void>>& waiting : std::exchange(until_complete, {}))
        waiting(told);
}

// ---- the first entries of a cluster's log ----

/// If this fails, the next leader founds the log again; founding twice has no effect.
void ReplicatedState::Impl::found_if_needed() {
    if (stopped || !log->leads() || !state().members().empty() || founding_under_way > 0) return;
    for (FoundingEntry& entry : founding_entries({parts.first_policy, members}, state().policy_version(),
                                                 [this] { return agreed.next_id(); })) {
        ++founding_under_way;
        agreed.append(entry.id, std::move(entry.value), [this](const auto&) { --founding_under_way; });
    }
}

// ---- the outside ----

Result<std::unique_ptr<ReplicatedState>> ReplicatedState::make(Parts parts) {
    HOLDFAST_ASSERT(parts.disk != nullptr);
    auto impl = std::make_unique<Impl>(std::move(parts));
    if (auto checked = impl->check(); !checked) return checked.error();
    return std::unique_ptr<ReplicatedState>(new ReplicatedState(std::move(impl)));
}

ReplicatedState::ReplicatedState(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ReplicatedState::~ReplicatedState() {
    stop();
}

lease::Policy ReplicatedState::policy() const {
    return impl_->policy->in_force();
}

std::vector<store::SavedAgent> ReplicatedState::agents() const {
    std::vector<store::SavedAgent> agents;
    for (const auto& [id, agent] : impl_->state().agents())
        agents.push_back(agent);
    return agents;
}

void ReplicatedState::use(authority::Authority& authority) {
    impl_->authority = &authority;
    impl_->agreed.use(authority);
    if (impl_->members.size() == 1) return impl_->log->lead(impl_->log->ballot().term + 1);
    impl_->candidate.emplace(election::Candidate::Parts{.authority = authority,
                                                        .group = std::string(group),
                                                        .id = id_of(impl_->parts.members[impl_->parts.node]),
                                                        .ttl = impl_->parts.leader_ttl,
                                                        .node = true,
                                                        .on_lead =
                                                            [impl = impl_.get()](lease::Token term) {
                                                                impl->log->lead(term);
                                                                impl->deliver();
                                                            },
                                                        .on_cease =
                                                            [impl = impl_.get()] {
                                                                impl->log->follow(std::nullopt);
                                                                impl->deliver();
                                                            }});
}

void ReplicatedState::advance(Instant now) {
    if (impl_->stopped) return;
    impl_->log->advance(now);
    impl_->policy->advance(now);
    if (impl_->candidate) impl_->candidate->advance(now);
    impl_->found_if_needed();
    impl_->deliver();
}

Instant ReplicatedState::next_due() const {
    if (impl_->stopped) return Instant::max();
    Instant due = std::min(impl_->log->next_due(), impl_->policy->next_due());
    if (impl_->candidate) due = std::min(due, impl_->candidate->next_due());
    return due;
}

void ReplicatedState::receive(store::quorum::NodeIndex from, const consensus::LogMessage& message) {
    if (impl_->stopped) return;
    impl_->log->receive(from, message);
    impl_->found_if_needed();
    impl_->deliver();
}

void ReplicatedState::on_peer(store::quorum::NodeIndex node, bool reachable) {
    // Changes are then refused at once instead of after a timeout. The leader is known again as soon as it is heard
    // from.
    if (!reachable && node != impl_->parts.node && impl_->log->leader() == node) impl_->log->follow(std::nullopt);
}

void ReplicatedState::reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) {
    impl_->parts.local.reserve_tokens(ceiling, std::move(done));
}

void ReplicatedState::submit(store::Change change, std::optional<store::AuditEntry> audit,
                             Callback<Result<void>> done) {
    if (const auto* policy = std::get_if<lease::Policy>(&change))
        return impl_->save_policy(audit, *policy, std::move(done));
    impl_->agreed.submit(std::move(change), std::move(audit), std::move(done));
}

store::AuditPage ReplicatedState::audit(std::uint64_t after, std::size_t limit) const {
    return impl_->state().audit(after, limit);
}

ReplicatedState::Status ReplicatedState::status() const {
    return {impl_->log->committed(), impl_->log->applied(), impl_->log->leads(), impl_->log->leader(),
            impl_->log->ballot()};
}

const ClusterState& ReplicatedState::agreed() const {
    return impl_->state();
}

void ReplicatedState::drain() {
    impl_->parts.disk->drain();
}

void ReplicatedState::stop() {
    impl_->stop();
}

}  // namespace holdfast::agreed
