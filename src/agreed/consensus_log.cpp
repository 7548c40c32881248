#include "agreed/consensus_log.h"

#include <algorithm>
#include <utility>

#include "base/alive.h"
#include "consensus/replicated_log.h"
#include "election/candidate.h"

namespace holdfast::agreed {
namespace {

std::string id_of(const std::string& member) {
    return member.substr(0, member.find('='));
}

}  // namespace

using consensus::LogIndex;

struct ConsensusLog::Impl {
    explicit Impl(Parts given);

    /// An answer of the disk may have applied entries.
    class Disk final : public consensus::LogDisk {
     public:
        explicit Disk(Impl& impl) : impl_(impl) {}
        void write(consensus::LogWrite write, Callback<Result<void>> done) override {
            impl_.parts.disk->write(
                std::move(write),
                impl_.alive.guard([&impl = impl_, done = std::move(done)](Result<void> outcome) mutable {
                    done(std::move(outcome));
                    impl.parts.machine.applied();
                }));
        }

     private:
        Impl& impl_;
    };

    Parts parts;
    bool stopped = false;
    Disk disk{*this};
    consensus::ReplicatedLog log;
    std::optional<election::Candidate> candidate;
    Alive alive;
};

ConsensusLog::Impl::Impl(Parts given)
    : parts(std::move(given)),
      log({.node = parts.node,
           .members = static_cast<std::uint8_t>(parts.members.size()),
           .disk = disk,
           .found = std::move(parts.found),
           .seed = parts.seed,
           .entries_before_snapshot = parts.entries_before_snapshot,
           .send = [this](store::quorum::NodeIndex to,
                          consensus::LogMessage message) { parts.send(to, std::move(message)); },
           .apply =
               [this](LogIndex index, const std::string& value) {
                   parts.machine.apply(index, value);
                   if (parts.on_applied) parts.on_applied(index, value);
               },
           .take_snapshot = [this] { return parts.machine.snapshot(); },
           .install =
               [this](const std::string& snapshot) {
                   // The machine remembers an error.
                   static_cast<void>(parts.machine.install(snapshot));
               }}) {
    HOLDFAST_ASSERT(parts.disk != nullptr);
}

ConsensusLog::ConsensusLog(Parts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}

ConsensusLog::~ConsensusLog() = default;

void ConsensusLog::stand(authority::Authority& authority) {
    Impl& impl = *impl_;
    if (impl.parts.members.size() == 1) return impl.log.lead(impl.log.ballot().term + 1);
    impl.candidate.emplace(election::Candidate::Parts{.authority = authority,
                                                      .group = "log",
                                                      .id = id_of(impl.parts.members[impl.parts.node]),
                                                      .ttl = impl.parts.leader_ttl,
                                                      .node = true,
                                                      .on_lead =
                                                          [&impl](lease::Token term) {
                                                              impl.log.lead(term);
                                                              impl.parts.machine.applied();
                                                          },
                                                      .on_cease =
                                                          [&impl] {
                                                              impl.log.follow(std::nullopt);
                                                              impl.parts.machine.applied();
                                                          }});
}

void ConsensusLog::append(std::string entry, Callback<Result<void>> done) {
    impl_->log.append(std::move(entry), [done = std::move(done)](const Result<LogIndex>& at) mutable {
        if (at) return done({});
        done(at.error().code == Code::storage_failed ? at.error() : Error{Code::unavailable, at.error().message});
    });
}

void ConsensusLog::advance(Instant now) {
    impl_->log.advance(now);
    if (impl_->candidate) impl_->candidate->advance(now);
}

Instant ConsensusLog::next_due() const {
    const Instant due = impl_->log.next_due();
    return impl_->candidate ? std::min(due, impl_->candidate->next_due()) : due;
}

bool ConsensusLog::may_found() const {
    return impl_->log.leads();
}

void ConsensusLog::stop() {
    impl_->candidate.reset();
    if (!std::exchange(impl_->stopped, true)) impl_->parts.disk->stop();
}

void ConsensusLog::receive(store::quorum::NodeIndex from, const consensus::LogMessage& message) {
    if (impl_->stopped) return;
    impl_->log.receive(from, message);
    impl_->parts.machine.applied();
}

void ConsensusLog::on_peer(store::quorum::NodeIndex node, bool reachable) {
    // Changes are then refused at once instead of after a timeout. The leader is known again as soon as it is heard
    // from.
    if (!reachable && node != impl_->parts.node && impl_->log.leader() == node) impl_->log.follow(std::nullopt);
}

ConsensusLog::Status ConsensusLog::status() const {
    return {impl_->log.committed(), impl_->log.applied(), impl_->log.leads(), impl_->log.leader(), impl_->log.ballot()};
}

void ConsensusLog::drain() {
    impl_->parts.disk->drain();
}

}  // namespace holdfast::agreed
