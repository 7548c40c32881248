#include "doors/peer/peer_door.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <list>
#include <map>
#include <set>

#include "base/assert.h"
#include "doors/peer/peer_link.h"
#include "net/dial.h"
#include "net/listener.h"

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
    std::shared_ptr<PeerLink> link;       ///< the open connection, if any
    store::quorum::BootNumber newest_boot = 0;
    PeerStatus past;  ///< totals of closed connections
    Logged logged;
};

/// Adds a connection's counts to those of earlier connections.
void add_counts(PeerStatus& status, const PeerLink::Counts& counts) {
    status.messages_sent += counts.sent;
    status.messages_received += counts.received;
    status.messages_dropped += counts.dropped;
    status.messages_rejected += counts.rejected;
    status.writes += counts.writes;
}

}  // namespace

struct PeerDoor::Impl final : std::enable_shared_from_this<Impl>, PeerLink::Owner {
    explicit Impl(Parts parts_given);

    Result<std::string> start();
    void make_dialer(store::quorum::NodeIndex index);
    std::shared_ptr<PeerLink> make_link(tcp::socket socket, Handshake::Side side, std::string address);
    void on_stranger(tcp::socket socket);
    void on_dialled(store::quorum::NodeIndex index, tcp::socket socket);

    std::optional<Refusal> admits(const PeerLink& link, Life life) override;
    void on_open(PeerLink& link) override;
    void on_refused(PeerLink& link) override;
    void on_messages(PeerLink& link, std::vector<codec::peer::Message> messages) override;
    void on_rejected(PeerLink& link, const std::string& why) override;
    void on_silence(PeerLink& link, Duration left) override;
    void on_lives(PeerLink& link, const std::vector<store::quorum::LifeMark>& lives) override;
    void on_closed(PeerLink& link, const std::string& why) override;

    void unreachable(store::quorum::NodeIndex index, const std::string& why);
    void lost(store::quorum::NodeIndex index, const std::string& why);
    std::optional<store::quorum::NodeIndex> index_of(const PeerLink& link) const;
    void log_once(Logged& last, const std::string& about, const std::string& line, bool error = false);
    void forget(const PeerLink& link);
    void disconnect(store::quorum::NodeIndex index, const std::string& why);
    PeerStatus status_of(std::size_t index) const;
    template <class AnyMessage>
    void send(store::quorum::NodeIndex to, std::optional<store::quorum::BootNumber> boot, const AnyMessage& message);

    void stop(std::function<void()> done);
    void stopped();
    void abandon();

    Parts parts;
    Terms terms;
    codec::peer::Encoder encoder;
    codec::peer::Decoder decoder;
    Random random;
    net::Listener listener;
    boost::asio::steady_timer stop_timer;
    std::vector<Peer> peers;
    std::set<std::shared_ptr<PeerLink>> links;  ///< all that are not closed
    std::map<const PeerLink*, store::quorum::NodeIndex> dialled;
    std::list<std::shared_ptr<PeerLink>> strangers;  ///< the unauthenticated ones of `links`, oldest first
    std::uint64_t refusals = 0;
    std::string last_refusal;
    Logged logged;
    bool stopping = false;
    std::function<void()> on_stopped;
};

PeerDoor::Impl::Impl(Parts parts_given)
    : parts(std::move(parts_given)),
      terms{parts.secret,      parts.members.self, parts.boot,     parts.members.ids(),
            parts.longest_ttl, parts.rho,          parts.protocol, parts.founders},
      random(parts.seed),
      listener(parts.loop, [this](tcp::socket socket) { on_stranger(std::move(socket)); }),
      stop_timer(parts.loop),
      peers(parts.members.all.size()) {
    HOLDFAST_ASSERT(parts.clock && parts.log && parts.on_peer && parts.on_messages);
    HOLDFAST_ASSERT(parts.members.self < peers.size() && peers.size() <= codec::peer::max_members);
}

Result<std::string> PeerDoor::Impl::start() {
    const std::string& address = parts.listen.empty() ? parts.members.own().address : parts.listen;
    if (peers.size() == 1) return address;
    const auto bound = listener.listen(address);
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

std::shared_ptr<PeerLink> PeerDoor::Impl::make_link(tcp::socket socket, Handshake::Side side, std::string address) {
    const PeerLink::Parts link_parts{*this, terms, parts.limits, parts.clock, encoder, decoder, parts.silent_for};
    auto link = std::make_shared<PeerLink>(std::move(socket), side, std::move(address), link_parts);
    links.insert(link);
    return link;
}

void PeerDoor::Impl::on_dialled(store::quorum::NodeIndex index, tcp::socket socket) {
    auto link = make_link(std::move(socket), Handshake::Side::connector, parts.members.all[index].address);
    dialled.emplace(link.get(), index);
    link->start();
}

void PeerDoor::Impl::on_stranger(tcp::socket socket) {
    boost::system::error_code error;
    const tcp::endpoint from = socket.remote_endpoint(error);
    if (error) return;
    // The oldest is dropped to make room. A peer that knows the secret authenticates in moments, and must not be kept
    // out by connections that never do.
    if (strangers.size() >= parts.limits.max_strangers) {
        ++refusals;
        strangers.front()->close("others came, and it had not proved who it is");
    }
    strangers.push_back(make_link(std::move(socket), Handshake::Side::acceptor, net::text_of(from)));
    strangers.back()->start();
}

std::optional<Refusal> PeerDoor::Impl::admits(const PeerLink& link, Life life) {
    const auto expected = dialled.find(&link);
    const bool right_one =
        link.connects() ? expected != dialled.end() && expected->second == life.node : life.node < parts.members.self;
    if (!right_one) return Refusal::unexpected_node;
    // Checked first: a wrong directory is reported as such, whatever its boot number.
    const auto refused =
        parts.founders != nullptr ? parts.founders->refuses(life, link.directories()) : std::optional<Refusal>();
    if (refused) return refused;
    if (life.boot < peers[life.node].newest_boot || life.boot == 0) return Refusal::old_boot;
    return std::nullopt;
}

void PeerDoor::Impl::on_open(PeerLink& link) {
    const Life life = *link.peer();
    Peer& peer = peers[life.node];
    strangers.remove(link.shared_from_this());
    if (const auto old = peer.link) old->close("a newer connection takes its place");
    peer.link = link.shared_from_this();
    peer.newest_boot = life.boot;
    ++peer.past.connections;
    peer.past.last_refusal.clear();
    last_refusal.clear();
    peer.logged = {};
    if (peer.dialer) peer.dialer->succeeded();
    parts.log(fmt::format("peer {} ({}) is connected, boot number {}, protocol {}", parts.members.all[life.node].id,
                          link.address(), life.boot, link.protocol()));
    if (parts.founders != nullptr) parts.founders->met(life, link.directories());
    parts.on_peer(life.node, life.boot);
}

// ---- messages ----

void PeerDoor::Impl::on_messages(PeerLink& link, std::vector<codec::peer::Message> messages) {
    if (!stopping) parts.on_messages(*link.peer(), std::move(messages));
}

void PeerDoor::Impl::on_silence(PeerLink& link, Duration left) {
    if (!stopping && parts.on_silence) parts.on_silence(link.peer()->node, left);
}

void PeerDoor::Impl::on_lives(PeerLink& link, const std::vector<store::quorum::LifeMark>& lives) {
    if (!stopping && parts.on_lives) parts.on_lives(link.peer()->node, lives);
}

void PeerDoor::Impl::on_rejected(PeerLink& link, const std::string& why) {
    parts.log(fmt::format("peer {} sent invalid messages, which count as lost: {}",
                          parts.members.all[link.peer()->node].id, why));
}

template <class AnyMessage>
void PeerDoor::Impl::send(store::quorum::NodeIndex to, std::optional<store::quorum::BootNumber> boot,
                          const AnyMessage& message) {
    HOLDFAST_ASSERT(to < peers.size() && to != parts.members.self);
    Peer& peer = peers[to];
    const bool reaches = peer.link && !stopping && (!boot || *boot == peer.link->peer()->boot);
    if (reaches)
        peer.link->send(message);
    else
        ++peer.past.messages_dropped;
}

// ---- closing connections ----

void PeerDoor::Impl::on_closed(PeerLink& link, const std::string& why) {
    const auto kept = link.shared_from_this();
    const auto index = index_of(link);
    const bool was_open = index && peers[*index].link == kept;
    forget(link);
    if (index) {
        add_counts(peers[*index].past, link.counts());
        peers[*index].past.last_failure = link.refusal() ? std::string(to_string(*link.refusal())) : why;
    }
    if (stopping) return stopped();
    if (dialled.erase(&link) > 0) peers[*index].dialer->dial_later();
    if (was_open) lost(*index, why);
}

void PeerDoor::Impl::forget(const PeerLink& link) {
    const auto kept = std::const_pointer_cast<PeerLink>(link.shared_from_this());
    links.erase(kept);
    strangers.remove(kept);
    for (Peer& peer : peers)
        if (peer.link == kept) peer.link.reset();
}

void PeerDoor::Impl::unreachable(store::quorum::NodeIndex index, const std::string& why) {
    peers[index].past.last_failure = why;
    peers[index].past.last_refusal.clear();  // the peer that refused is no longer there
    const Member& member = parts.members.all[index];
    log_once(peers[index].logged, "unreachable",
             fmt::format("peer {} ({}) cannot be reached: {}", member.id, member.address, why));
}

void PeerDoor::Impl::lost(store::quorum::NodeIndex index, const std::string& why) {
    parts.log(fmt::format("peer {} is lost: {}", parts.members.all[index].id, why));
    parts.on_peer(index, std::nullopt);
}

/// The peer at the other end, if known.
std::optional<store::quorum::NodeIndex> PeerDoor::Impl::index_of(const PeerLink& link) const {
    if (const auto found = dialled.find(&link); found != dialled.end()) return found->second;
    if (link.peer()) return link.peer()->node;
    return std::nullopt;
}

void PeerDoor::Impl::on_refused(PeerLink& link) {
    const auto index = index_of(link);
    const std::string code(to_string(*link.refusal()));
    const std::string who = index ? "peer " + parts.members.all[*index].id : std::string("a connection from");
    if (!link.connects()) ++refusals;
    if (index)
        peers[*index].past.last_refusal = code;
    else
        last_refusal = code;
    const std::string line =
        fmt::format("{} ({}) {}: {}: {}", who, link.address(), link.refused_by_peer() ? "refuses us" : "is refused",
                    code, link.why_refused());
    log_once(index ? peers[*index].logged : logged, code, line, needs_repair(*link.refusal()));
    const Refusal says_ours_is_old = link.refused_by_peer() ? Refusal::old_boot : Refusal::old_directory;
    if (*link.refusal() != says_ours_is_old || parts.founders == nullptr || stopping) return;
    parts.founders->found_old();
    if (parts.on_found_old) parts.on_found_old();
}

/// A refused peer retries every two seconds. It is logged when the reason changes, and otherwise rarely.
void PeerDoor::Impl::log_once(Logged& last, const std::string& about, const std::string& line, bool error) {
    const Instant now = parts.clock();
    if (last.about == about && now - last.at < repeated_after) return;
    last = {about, now};
    error&& parts.log_error ? parts.log_error(line) : parts.log(line);
}

// ---- status ----

void PeerDoor::Impl::disconnect(store::quorum::NodeIndex index, const std::string& why) {
    if (const auto link = peers[index].link) link->close(why);
}

PeerStatus PeerDoor::Impl::status_of(std::size_t index) const {
    const Peer& peer = peers[index];
    PeerStatus status = peer.past;
    status.id = parts.members.all[index].id;
    status.address = parts.members.all[index].address;
    status.self = index == parts.members.self;
    if (!peer.link) return status;
    add_counts(status, peer.link->counts());
    status.boot = peer.link->peer()->boot;
    status.connected_since = peer.link->open_since();
    status.round_trip = peer.link->round_trip();
    status.silent_for = peer.link->silent_for(parts.clock());
    status.bytes_queued = peer.link->bytes_queued();
    return status;
}

// ---- stopping ----

void PeerDoor::Impl::stop(std::function<void()> done) {
    stopping = true;
    on_stopped = std::move(done);
    listener.close();
    for (Peer& peer : peers)
        if (peer.dialer) peer.dialer->stop();
    stop_timer.expires_after(parts.limits.stop_within);
    stop_timer.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
        if (cancelled) return;
        self->abandon();
        self->stopped();
    });
    const auto all = links;  // a copy: closing a link removes it from `links`
    for (const auto& link : all)
        link->finish();
    stopped();
}

void PeerDoor::Impl::stopped() {
    if (!links.empty() || !on_stopped) return;
    stop_timer.cancel();
    // Posted, since done() may destroy the door.
    boost::asio::post(parts.loop, [self = shared_from_this(), done = std::exchange(on_stopped, nullptr)] { done(); });
}

void PeerDoor::Impl::abandon() {
    for (const auto& link : links)
        link->abandon();
    links.clear();
    strangers.clear();
    for (Peer& peer : peers)
        peer.link.reset();
}

PeerDoor::PeerDoor(Parts parts) : impl_(std::make_shared<Impl>(std::move(parts))) {}

PeerDoor::~PeerDoor() {
    impl_->stopping = true;
    impl_->on_stopped = nullptr;
    impl_->listener.close();
    impl_->stop_timer.cancel();
    for (Peer& peer : impl_->peers)
        if (peer.dialer) peer.dialer->stop();
    impl_->abandon();
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
    impl_->stop(std::move(done));
}

}  // namespace holdfast::doors::peer
