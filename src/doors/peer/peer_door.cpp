#include "doors/peer/peer_door.h"

#include <fmt/format.h>
#include <map>

#include "base/assert.h"
#include "base/clock.h"
#include "doors/peer/peer_link.h"
#include "net/dial.h"
#include "net/door.h"

namespace holdfast::doors::peer {

using boost::asio::ip::tcp;

namespace {

constexpr auto repeated_after = 60s;  // before a log line is repeated

/// The last log line about one peer: its topic and time.
struct Logged {
    std::string about;
    Instant at{};
};

/// The door's state for one member.
struct Peer {
    std::unique_ptr<net::Dialer> dialer;  ///< if this node connects
    PeerLink* link = nullptr;             ///< the open connection, if any
    store::quorum::BootNumber newest_boot = 0;
    PeerStatus past;  ///< totals of closed connections
    Logged logged;
};

/// The member at the other end, if known.
std::optional<store::quorum::NodeIndex> index_of(const PeerLink& link) {
    if (link.dialled()) return link.dialled();
    if (link.peer_life()) return link.peer_life()->node;
    return std::nullopt;
}

/// Adds a connection's counts to those of earlier connections.
void add_counts(PeerStatus& status, const PeerLink::Counts& counts) {
    status.messages_sent += counts.sent;
    status.messages_received += counts.received;
    status.messages_dropped += counts.dropped;
    status.messages_rejected += counts.rejected;
    status.writes += counts.writes;
}

net::Door::Options door_options(const PeerDoorLimits& limits) {
    return {.check_every = net::check_period(std::min({limits.ping_every, limits.dead_after, limits.handshake_within})),
            .stop_grace = limits.stop_within,
            .lingers_at_stop = true};
}

}  // namespace

struct PeerDoor::Impl final : net::Door::Owner, PeerLink::Owner {
    explicit Impl(Parts parts_given);

    Result<std::string> start();
    void make_dialer(store::quorum::NodeIndex index);
    std::shared_ptr<PeerLink> make_link(net::Admitted admitted, std::optional<store::quorum::NodeIndex> dialled);
    void on_dialled(store::quorum::NodeIndex index, tcp::socket socket);
    std::shared_ptr<net::Connection> make_connection(net::Admitted admitted) override;

    std::optional<Refusal> admits(const PeerLink& link, Life life) override;
    void on_open(PeerLink& link) override;
    void on_refused(PeerLink& link) override;
    void on_rejected(PeerLink& link, const std::string& why) override;
    void on_closed(PeerLink& link, const std::string& why) override;

    void unreachable(store::quorum::NodeIndex index, const std::string& why);
    void lost(store::quorum::NodeIndex index, const std::string& why);
    void log_once(Logged& last, const std::string& about, const std::string& line, bool needs_repair = false);
    void disconnect(store::quorum::NodeIndex index, const std::string& why);
    PeerStatus status_of(std::size_t index) const;
    template <class AnyMessage>
    void send(store::quorum::NodeIndex to, std::optional<store::quorum::BootNumber> boot, const AnyMessage& message);

    void stop_dialling();

    Parts parts;
    Terms terms;
    codec::peer::Encoder encoder;
    codec::peer::Decoder decoder;
    Random random;
    net::Door door;
    std::vector<Peer> peers;
    std::map<std::uint64_t, PeerLink*> strangers;  ///< the unauthenticated ones, by age
    std::uint64_t refusals = 0;
    std::string last_refusal;
    Logged logged;
    bool stopping = false;
};

PeerDoor::Impl::Impl(Parts parts_given)
    : parts(std::move(parts_given)),
      terms{parts.secret,      parts.members.self, parts.boot,     parts.members.ids(),
            parts.longest_ttl, parts.rho,          parts.protocol, parts.founders},
      random(parts.seed),
      door(parts.loop, *this, door_options(parts.limits), parts.turn),
      peers(parts.members.all.size()) {
    HOLDFAST_ASSERT(parts.members.self < peers.size() && peers.size() <= codec::peer::max_members);
}

Result<std::string> PeerDoor::Impl::start() {
    const std::string& address = parts.listen.empty() ? parts.members.own().address : parts.listen;
    if (peers.size() == 1) return address;
    const auto bound = door.listen(address);
    if (!bound) return bound.error();
    for (std::size_t index = parts.members.self + 1U; index < peers.size(); ++index) {
        make_dialer(static_cast<store::quorum::NodeIndex>(index));
        peers[index].dialer->dial();
    }
    return net::text_of(*bound);
}

// ---- opening connections ----

void PeerDoor::Impl::make_dialer(store::quorum::NodeIndex index) {
    const auto address = split_address(parts.members.all[index].address);
    HOLDFAST_ASSERT(address);  // parse_members() has checked it
    peers[index].dialer = std::make_unique<net::Dialer>(
        net::Dialer::Parts{.loop = parts.loop,
                           .to = {{address->host, static_cast<std::uint16_t>(std::stoul(address->port))}},
                           .attempt_within = parts.limits.handshake_within,
                           .pauses = {parts.limits.redial_least, parts.limits.max_redial},
                           .seed = random.next(),
                           .on_socket = [this, index](tcp::socket socket) { on_dialled(index, std::move(socket)); },
                           .on_failure = [this, index](const std::string& why) { unreachable(index, why); }});
}

std::shared_ptr<PeerLink> PeerDoor::Impl::make_link(net::Admitted admitted,
                                                    std::optional<store::quorum::NodeIndex> dialled) {
    return std::make_shared<PeerLink>(std::move(admitted), dialled,
                                      PeerLink::Parts{*this, parts.node, terms, parts.limits, encoder, decoder});
}

void PeerDoor::Impl::on_dialled(store::quorum::NodeIndex index, tcp::socket socket) {
    const auto make = [&](net::Admitted admitted) { return make_link(std::move(admitted), index); };
    if (!door.adopt(std::move(socket), parts.members.all[index].address, make)) peers[index].dialer->dial_later();
}

std::shared_ptr<net::Connection> PeerDoor::Impl::make_connection(net::Admitted admitted) {
    // The oldest is dropped to make room. A peer that knows the secret authenticates in moments, and must not be kept
    // out by connections that never do.
    if (strangers.size() >= parts.limits.max_strangers) {
        ++refusals;
        strangers.begin()->second->close("others came, and it had not proved who it is");
    }
    auto link = make_link(std::move(admitted), std::nullopt);
    strangers.emplace(link->id(), link.get());
    return link;
}

std::optional<Refusal> PeerDoor::Impl::admits(const PeerLink& link, Life life) {
    const bool right_one = link.dialled() ? *link.dialled() == life.node : life.node < parts.members.self;
    if (!right_one) return Refusal::unexpected_node;
    // Checked first: a wrong directory is reported as such, whatever its boot number.
    const auto refused =
        parts.founders != nullptr ? parts.founders->refuses(life, link.directories()) : std::optional<Refusal>();
    if (refused) return refused;
    if (life.boot < peers[life.node].newest_boot || life.boot == 0) return Refusal::old_boot;
    return std::nullopt;
}

void PeerDoor::Impl::on_open(PeerLink& link) {
    const Life life = *link.peer_life();
    Peer& peer = peers[life.node];
    strangers.erase(link.id());
    if (peer.link != nullptr) peer.link->close("a newer connection takes its place");
    peer.link = &link;
    peer.newest_boot = life.boot;
    ++peer.past.connections;
    peer.past.last_refusal.clear();
    last_refusal.clear();
    peer.logged = {};
    if (peer.dialer) peer.dialer->succeeded();
    parts.node.log(fmt::format("peer {} ({}) is connected, boot number {}, protocol {}",
                               parts.members.all[life.node].id, link.peer(), life.boot, link.protocol()),
                   false);
    if (parts.founders != nullptr) parts.founders->met(life, link.directories());
    parts.node.on_peer(life.node, life.boot);
}

// ---- messages ----

void PeerDoor::Impl::on_rejected(PeerLink& link, const std::string& why) {
    parts.node.log(fmt::format("peer {} sent invalid messages, which count as lost: {}",
                               parts.members.all[link.peer_life()->node].id, why),
                   false);
}

template <class AnyMessage>
void PeerDoor::Impl::send(store::quorum::NodeIndex to, std::optional<store::quorum::BootNumber> boot,
                          const AnyMessage& message) {
    HOLDFAST_ASSERT(to < peers.size() && to != parts.members.self);
    Peer& peer = peers[to];
    const bool reaches = peer.link != nullptr && !stopping && (!boot || *boot == peer.link->peer_life()->boot);
    if (reaches)
        peer.link->send(message);
    else
        ++peer.past.messages_dropped;
}

// ---- closing connections ----

void PeerDoor::Impl::on_closed(PeerLink& link, const std::string& why) {
    strangers.erase(link.id());
    const auto index = index_of(link);
    if (!index) return;
    Peer& peer = peers[*index];
    const bool was_open = peer.link == &link;
    if (was_open) peer.link = nullptr;
    add_counts(peer.past, link.counts());
    peer.past.last_failure = link.refusal() ? std::string(to_string(*link.refusal())) : why;
    if (stopping) return;
    if (link.dialled()) peer.dialer->dial_later();
    if (was_open) lost(*index, why);
}

void PeerDoor::Impl::unreachable(store::quorum::NodeIndex index, const std::string& why) {
    peers[index].past.last_failure = why;
    peers[index].past.last_refusal.clear();  // the peer that refused is no longer there
    const Member& member = parts.members.all[index];
    log_once(peers[index].logged, "unreachable",
             fmt::format("peer {} ({}) cannot be reached: {}", member.id, member.address, why));
}

void PeerDoor::Impl::lost(store::quorum::NodeIndex index, const std::string& why) {
    parts.node.log(fmt::format("peer {} is lost: {}", parts.members.all[index].id, why), false);
    parts.node.on_peer(index, std::nullopt);
}

void PeerDoor::Impl::on_refused(PeerLink& link) {
    const auto index = index_of(link);
    const std::string code(to_string(*link.refusal()));
    const std::string who = index ? "peer " + parts.members.all[*index].id : std::string("a connection from");
    if (!link.dialled()) ++refusals;
    if (index)
        peers[*index].past.last_refusal = code;
    else
        last_refusal = code;
    const std::string line =
        fmt::format("{} ({}) {}: {}: {}", who, link.peer(), link.refused_by_peer() ? "refuses us" : "is refused", code,
                    link.why_refused());
    log_once(index ? peers[*index].logged : logged, code, line, needs_repair(*link.refusal()));
    const Refusal says_ours_is_old = link.refused_by_peer() ? Refusal::old_boot : Refusal::old_directory;
    if (*link.refusal() == says_ours_is_old && parts.founders != nullptr && !stopping) parts.node.on_found_old();
}

/// A refused peer retries every two seconds. It is logged when the reason changes, and otherwise rarely.
void PeerDoor::Impl::log_once(Logged& last, const std::string& about, const std::string& line, bool needs_repair) {
    const Instant now = store_clock_now();
    if (last.about == about && now - last.at < repeated_after) return;
    last = {about, now};
    parts.node.log(line, needs_repair);
}

// ---- status ----

void PeerDoor::Impl::disconnect(store::quorum::NodeIndex index, const std::string& why) {
    if (PeerLink* link = peers[index].link) link->give_up(why);
}

PeerStatus PeerDoor::Impl::status_of(std::size_t index) const {
    const Peer& peer = peers[index];
    PeerStatus status = peer.past;
    status.id = parts.members.all[index].id;
    status.address = parts.members.all[index].address;
    status.self = index == parts.members.self;
    if (peer.link == nullptr) return status;
    add_counts(status, peer.link->counts());
    status.boot = peer.link->peer_life()->boot;
    status.connected_since = peer.link->open_since();
    status.round_trip = peer.link->round_trip();
    status.silent_for = peer.link->silent_for(store_clock_now());
    status.bytes_queued = peer.link->bytes_queued();
    return status;
}

// ---- stopping ----

void PeerDoor::Impl::stop_dialling() {
    stopping = true;
    for (Peer& peer : peers)
        if (peer.dialer) peer.dialer->stop();
}

PeerDoor::PeerDoor(Parts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}

PeerDoor::~PeerDoor() {
    impl_->stop_dialling();
    impl_->door.shut();
}

Result<std::string> PeerDoor::start() {
    return impl_->start();
}

void PeerDoor::send(const store::quorum::Envelope& envelope) {
    HOLDFAST_ASSERT(envelope.from == impl_->parts.members.self && envelope.from_boot == impl_->parts.boot);
    impl_->send(envelope.to, envelope.to_boot, envelope.message);
}

void PeerDoor::send(store::quorum::NodeIndex to, const consensus::LogMessage& message) {
    impl_->send(to, std::nullopt, message);
}

void PeerDoor::disconnect(store::quorum::NodeIndex peer, const std::string& why) {
    impl_->disconnect(peer, why);
}

PeerDoorStatus PeerDoor::status() const {
    PeerDoorStatus status;
    for (std::size_t index = 0; index < impl_->peers.size(); ++index)
        status.peers.push_back(impl_->status_of(index));
    status.strangers = impl_->strangers.size();
    status.refused = impl_->refusals;
    status.last_refusal = impl_->last_refusal;
    return status;
}

void PeerDoor::stop(std::function<void()> done) {
    impl_->stop_dialling();
    impl_->door.stop(std::move(done));
}

}  // namespace holdfast::doors::peer
