#include "store/quorum/quorum_store.h"

#include <algorithm>

#include "base/assert.h"
#include "store/cas/waiter_poller.h"
#include "store/memory/memory_store.h"
#include "store/quorum/peer_transport.h"
#include "store/quorum/proposer.h"
#include "store/quorum/quorum_reads.h"

namespace holdfast::store::quorum {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

struct QuorumStore::Impl {
    explicit Impl(Parts parts)
        : config(parts.config),
          acceptor({config, parts.listener, parts.hash_key, parts.silent_until, parts.highest_token}),
          peers(config, std::move(parts.send)),
          reads(config, acceptor, peers),
          proposer({config, acceptor, peers, reads, parts.hash_key, parts.seed, parts.ballots_from,
                    std::move(parts.shown_wall_ms)}),
          poller({.listener = parts.listener,
                  .update = [this](std::string_view resource, Update& update) { proposer.update(resource, update); },
                  .hash_key = parts.hash_key,
                  .seed = parts.seed + 1}) {
        HOLDFAST_ASSERT(config.members > 0 && config.members <= NodeSet::max_nodes && config.node < config.members);
        proposer.counter().heard(acceptor.forgotten());
        proposer.on_enqueued([this](std::string_view resource, const std::vector<std::uint64_t>& waiters) {
            poller.watch(resource, waiters, now);
        });
    }

    void receive(Envelope& envelope) {
        const auto answer = [&](auto&& reply) {
            if (reply) peers.answer(envelope, std::move(*reply));
        };
        std::visit(Overloaded{
                       [&](const Prepare& message) {
                           proposer.counter().heard(message.ballot);
                           answer(acceptor.prepare(message));
                       },
                       [&](Accept& message) {
                           proposer.counter().heard(message.next);
                           answer(acceptor.accept(std::move(message)));
                       },
                       [&](const ReadRequest& message) { answer(acceptor.answer(message)); },
                       [&](Vote& message) { proposer.on_vote(envelope.from, std::move(message)); },
                       [&](const ReadReply& message) { reads.on_reply(envelope.from, message); },
                   },
                   envelope.message);
    }

    /// An acceptor that lost its memory takes part in nothing below its ceiling (acceptor.h). It announces the ceiling
    /// while it is silent, so that the other nodes raise theirs above it before they need to. The empty resource is
    /// used by no one.
    void greet(NodeIndex peer) {
        const Ballot floor = acceptor.forgotten();
        if (acceptor.silent_for() > Duration::zero() && floor.counter > 0)
            peers.to(peer, Prepare{{}, {floor.counter, config.boot, config.node}});
    }

    struct HolderRead {
        std::string holder;
        Which which;
        std::size_t most;
        Instant give_up_at;
        Callback<Result<std::vector<lease::LeaseName>>> reply;
    };

    void ask_for_leases(std::unique_ptr<HolderRead> asked) {
        ReadRequest request;
        request.kind =
            asked->which == Which::active ? ReadRequest::Kind::of_holder : ReadRequest::Kind::of_holder_or_reserved;
        request.name = asked->holder;
        request.most = static_cast<std::uint32_t>(std::min(asked->most, lease::limits::obstacles));
        reads.ask(std::move(request), now, [this, asked = std::move(asked)](Result<ReadResult> read) mutable {
            const bool decidable = peers.may_decide(acceptor.silent_for() == Duration::zero(), now);
            if (!read && decidable && now < asked->give_up_at && !reads.stopped())
                return ask_for_leases(std::move(asked));
            if (!read) return asked->reply(read.error());
            asked->reply(names_in(*read, asked->most));
        });
    }

    /// Returns the names that any node of the majority holds. A caller that uses a name finds out whether its lease
    /// still exists.
    static std::vector<lease::LeaseName> names_in(const ReadResult& read, std::size_t most) {
        std::vector<lease::LeaseName> names;
        for (const ReadReply::Entry& entry : read.entries)
            for (const lease::Lease& lease : entry.record.record.leases)
                names.push_back({entry.resource, lease.token});
        const auto key = [](const lease::LeaseName& name) { return std::tie(name.resource, name.token); };
        std::sort(names.begin(), names.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
        names.erase(std::unique(names.begin(), names.end()), names.end());
        if (names.size() > most) names.resize(most);
        return names;
    }

    void in_holders_measure(ListPage& page) const {
        for (NamedLease& named : page.leases)
            named.lease.expires_at = now + config.rates().usable(named.lease.expires_at - now);
    }

    const QuorumConfig config;
    Instant now;
    Acceptor acceptor;
    PeerTransport peers;
    QuorumReads reads;
    Proposer proposer;
    cas::WaiterPoller poller;
};

QuorumStore::QuorumStore(Parts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}

QuorumStore::~QuorumStore() = default;

bool QuorumStore::advance(Instant now, std::size_t steps) {
    HOLDFAST_ASSERT(now >= impl_->now);
    impl_->now = now;
    impl_->peers.set_time(now);
    impl_->proposer.set_time(now);
    bool more = impl_->acceptor.advance(now, steps);
    impl_->reads.advance(now);
    more |= impl_->proposer.advance(steps);
    more |= impl_->poller.advance(now, steps);
    impl_->proposer.notify();
    return more;
}

Instant QuorumStore::next_due() const {
    return std::min(
        {impl_->acceptor.next_due(), impl_->reads.next_due(), impl_->proposer.next_due(), impl_->poller.next_due()});
}

void QuorumStore::receive(Envelope envelope) {
    if (!impl_->peers.admits(envelope)) return;
    impl_->receive(envelope);
    impl_->proposer.notify();
}

void QuorumStore::set_peer(NodeIndex peer, std::optional<BootNumber> boot) {
    impl_->peers.set_peer(peer, boot);
    if (boot) impl_->greet(peer);
}

void QuorumStore::set_silence(NodeIndex peer, Instant until) {
    impl_->peers.set_silence(peer, until);
}

bool QuorumStore::votes(NodeIndex node) const {
    if (node == impl_->config.node) return impl_->acceptor.silent_for() == Duration::zero();
    return impl_->peers.votes(node, impl_->now);
}

std::optional<Duration> QuorumStore::decides_in() const {
    return impl_->peers.decides_in(impl_->acceptor.silent_for(), impl_->now);
}

void QuorumStore::update(std::string_view resource, Update& update) {
    impl_->proposer.update(resource, update);
    impl_->proposer.notify();
}

void QuorumStore::leases_of(std::string_view holder, Which which, std::size_t most,
                            Callback<Result<std::vector<lease::LeaseName>>> reply) {
    const Instant give_up_at = impl_->now + impl_->config.give_up_after;
    impl_->ask_for_leases(std::make_unique<Impl::HolderRead>(
        Impl::HolderRead{std::string(holder), which, most, give_up_at, std::move(reply)}));
    impl_->proposer.notify();
}

void QuorumStore::list(const ListQuery& query, Callback<Result<ListPage>> reply) {
    impl_->acceptor.records().list(query, [&](Result<ListPage> page) {
        if (page) impl_->in_holders_measure(*page);
        reply(std::move(page));
    });
}

std::size_t QuorumStore::active_leases() const {
    return impl_->acceptor.records().active_leases();
}

std::size_t QuorumStore::memory_bytes() const {
    return impl_->acceptor.records().memory_bytes();
}

void QuorumStore::stop() {
    impl_->proposer.stop();
    impl_->reads.stop();
    impl_->proposer.notify();
}

Acceptor& QuorumStore::acceptor() {
    return impl_->acceptor;
}

std::size_t QuorumStore::under_way() const {
    return impl_->proposer.under_way();
}

const QuorumStore::Counts& QuorumStore::counts() const {
    return impl_->proposer.counts();
}

}  // namespace holdfast::store::quorum
