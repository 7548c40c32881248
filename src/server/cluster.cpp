#include "server/cluster.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <map>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "doors/peer/peer_door.h"
#include "election/candidate.h"
#include "server/backend.h"
#include "server/cluster_founding.h"
#include "server/logger.h"
#include "server/token_ceiling.h"
#include "store/memory/memory_store.h"
#include "store/quorum/peer_lives.h"
#include "store/quorum/quorum_store.h"

namespace holdfast::server {

/// Decides which members this node talks to: those whose state directory belongs to the cluster (cluster_founding.h)
/// and is not an earlier copy of itself (store/quorum/peer_lives.h).
class ClusterPeers final : public doors::peer::Founders {
 public:
    struct Parts {
        ClusterFounding::Parts founding;
        store::quorum::PeerLives::Parts lives;
    };
    explicit ClusterPeers(Parts parts) : founding(std::move(parts.founding)), lives(std::move(parts.lives)) {}

    doors::peer::Directories own() const override {
        doors::peer::Directories said = founding.own();
        said.incarnation = lives.own().incarnation;
        said.lives = lives.durable();
        return said;
    }

    std::optional<doors::peer::Refusal> refuses(doors::peer::Life peer,
                                                const doors::peer::Directories& theirs) const override {
        if (!founding.admits(peer.node, theirs)) return doors::peer::Refusal::other_directory;
        const store::quorum::LifeMark known_there =
            founding.self() < theirs.lives.size() ? theirs.lives[founding.self()] : store::quorum::LifeMark{};
        switch (lives.judge(peer.node, {peer.boot, theirs.incarnation}, known_there)) {
            case store::quorum::PeerLives::Judgement::theirs_is_old:
                return doors::peer::Refusal::old_boot;
            case store::quorum::PeerLives::Judgement::ours_is_old:
                return doors::peer::Refusal::old_directory;
            case store::quorum::PeerLives::Judgement::current:
                break;
        }
        return std::nullopt;
    }

    void met(doors::peer::Life peer, const doors::peer::Directories& theirs) override {
        founding.met(peer.node, theirs);
        lives.met(peer.node, {peer.boot, theirs.incarnation}, theirs.lives);
        incarnations[peer.node] = {peer.boot, theirs.incarnation};
    }

    /// Whether this incarnation of the peer may take part.
    bool may_take_part(store::quorum::NodeIndex peer, store::quorum::BootNumber boot) const {
        const auto found = incarnations.find(peer);
        return founding.founded() && found != incarnations.end() && found->second.boot == boot &&
               lives.may_take_part(peer, found->second);
    }

    ClusterFounding founding;
    store::quorum::PeerLives lives;

 private:
    std::map<store::quorum::NodeIndex, store::quorum::LifeMark> incarnations;  // of each peer's last connection
};

namespace {

constexpr Duration pause_after_failure = 1s;

/// Reads one record from this node's own acceptor.
class Read final : public store::Update {
 public:
    store::Effect apply(lease::Record& found, const lease::Neighbours&, Instant) override {
        record = found;
        return store::Effect::none;
    }
    void done(Result<void>) override {}

    lease::Record record;
};

}  // namespace

Instant silent_until(const ClusterSettings& settings, const statefile::Found& found, Instant now) {
    if (found.founders.empty() && settings.members.all.size() > 1) return Instant{};
    if (found.last_stop != statefile::LastStop::unclean)  // a silence interrupted by a clean stop continues
        return found.recovering_until > now ? found.recovering_until : Instant{};
    store::quorum::QuorumConfig config = settings.config(found.boot);
    config.longest_ttl = std::max(config.longest_ttl, found.recovering_until - now);
    return now + config.silence();
}

struct Cluster::Impl final : doors::peer::Node {
    explicit Impl(Parts given)
        : parts(std::move(given)),
          config(parts.settings.config(parts.found.boot)),
          silent_till(silent_until(parts.settings, parts.found, parts.started_at)),
          store(store_parts()),
          ceiling({store.acceptor(), parts.durable, wall_clock_ms}),
          known({{parts.settings.members.self,
                  parts.settings.members.all.size(),
                  {parts.found.directory, parts.found.founders, 0, {}}},
                 {parts.settings.members.self, parts.settings.members.all.size(), parts.found.lives,
                  parts.found.peer_lives}}),
          peers(parts.settings.members.all.size()),
          taking_part(parts.settings.members.all.size()),
          door(door_parts()) {
        store::quorum::Acceptor& acceptor = store.acceptor();
        acceptor.raise_token_ceiling(parts.found.token_ceiling);
        acceptor.restore_forgotten(parts.found.marks.forgotten);
        store.advance(parts.started_at);
        ceiling.advance(parts.started_at);  // reserved before it is needed
        silent = acceptor.silent_for() > Duration::zero();
        tell_who_this_is();
    }

    store::quorum::QuorumStore::Parts store_parts() {
        // After a clean stop the node continues where it was. Otherwise the ceiling is all it knows of tokens and
        // ballots.
        const bool lost = silent_till > Instant{};
        const statefile::AcceptorMarks& marks = parts.found.marks;
        return {.config = config,
                .listener = parts.listener,
                .hash_key = HashKey{random_seed(), random_seed()},
                .seed = random_seed(),
                .silent_until = silent_till,
                .highest_token = lost ? parts.found.token_ceiling : marks.highest_token,
                .ballots_from = lost ? parts.found.token_ceiling : marks.highest_counter,
                .shown_wall_ms = shown_wall_ms,
                .send = [this](store::quorum::Envelope envelope) { door.send(envelope); }};
    }

    doors::peer::PeerDoor::Parts door_parts() {
        return {.loop = parts.loop,
                .node = *this,
                .turn = {[this] { driver->turn_begins(); }, [this] { driver->event_turn_ends(); }},
                .members = parts.settings.members,
                .listen = parts.settings.listen,
                .secret = parts.settings.secret,
                .boot = config.boot,
                .longest_ttl = config.longest_ttl,
                .rho = config.rho,
                .seed = random_seed(),
                .founders = &known};
    }

    void tell_who_this_is() {
        const statefile::StateOwner owner = parts.settings.owner();
        parts.log.info(fmt::format("node {} of the cluster of {}, start {}; no lease for longer than {}", owner.node,
                                   owner.members, config.boot, format_duration(config.longest_ttl)));
        if (silent)
            parts.log.warn(
                "silent: this node has forgotten what it agreed to before an unclean stop, so it takes part "
                "in no decision for " +
                format_duration(store.acceptor().silent_for()));
        if (!known.founding.founded())
            parts.log.info("the cluster is not founded yet: it begins once all of its members have met");
    }

    void advance(Instant now) {
        ceiling.advance(now);
        found_if_complete(now);
        write_lives(now);
        if (!silent || store.acceptor().silent_for() > Duration::zero()) return;
        silent = false;
        parts.log.info("no longer silent: this node takes part again");
    }

    Instant next_due() const {
        Instant due = silent ? std::min(ceiling.next_due(), silent_till) : ceiling.next_due();
        if (known.founding.to_write() && !writing_founders) due = std::min(due, write_founders_at);
        if (known.lives.to_write() && !writing_lives) due = std::min(due, write_lives_at);
        return due;
    }

    /// Makes the founders durable before this node agrees to anything, so that a crash cannot lose them.
    void found_if_complete(Instant now) {
        auto directories = known.founding.to_write();
        if (!directories || writing_founders || now < write_founders_at) return;
        writing_founders = true;
        write_founders_at = now + pause_after_failure;
        parts.durable.save_founders(std::move(*directories), [this](const Result<void>& written) {
            writing_founders = false;
            if (!written) return;  // retried after a pause
            known.founding.written();
            parts.log.info("the cluster is founded: all of its members have met");
            tell_of_peers();
        });
    }

    /// Q12: the same for the incarnations of the others, so that an earlier copy of a directory is recognised.
    void write_lives(Instant now) {
        auto lives = known.lives.to_write();
        if (!lives || writing_lives || now < write_lives_at) return;
        writing_lives = true;
        write_lives_at = now + pause_after_failure;
        parts.durable.save_peer_lives(*lives, [this, lives = *lives](const Result<void>& written) {
            writing_lives = false;
            lives_refused = written ? std::nullopt : std::optional(written.error());
            if (!written) return;  // retried after a pause
            write_lives_at = {};
            tell_of_lives_heard_of(lives);
            known.lives.written(lives);
            tell_of_peers();
            part_from_old_lives();
        });
    }

    void tell_of_lives_heard_of(const std::vector<store::quorum::LifeMark>& lives) {
        for (store::quorum::NodeIndex peer = 0; peer < peers.size(); ++peer)
            if (lives[peer].boot > known.lives.durable()[peer].boot && lives[peer].boot != peers[peer])
                parts.log.info(fmt::format("another member has met start {} of {}: no earlier one takes part any more",
                                           lives[peer].boot, parts.settings.members.all[peer].id));
    }

    /// Another member has reported a later incarnation of a connected peer. The peer reconnects as that one, or is
    /// refused.
    void part_from_old_lives() {
        if (!known.founding.founded() || known.lives.to_write()) return;
        for (store::quorum::NodeIndex peer = 0; peer < peers.size(); ++peer)
            if (peers[peer] && !known.may_take_part(peer, *peers[peer]))
                door.disconnect(peer, "a later start of it is known");
    }

    // ---- what the peers' door says ----

    void on_silence(store::quorum::NodeIndex peer, Duration left) override {
        store.set_silence(peer, store_clock_now() + left);
    }

    Duration silent_for() override { return store.acceptor().silent_for(); }

    void log(std::string_view line, bool needs_repair) override {
        needs_repair ? parts.log.error(line) : parts.log.info(line);
    }

    void on_lives(store::quorum::NodeIndex peer, const std::vector<store::quorum::LifeMark>& lives) override {
        known.lives.told(peer, lives);
        if (known.lives.to_write()) tell_of_peers();
    }

    /// Q12: a node that has forgotten what it agreed to must not agree to anything more, with any peer.
    void on_found_old() override {
        known.lives.found_old();
        if (std::exchange(said_to_be_old, true)) return;
        parts.log.error(
            "this node runs on an earlier copy of its state directory, or beside another process with its id: it takes "
            "part in nothing any more. Stop it, and give it the directory that it ran with last (docs/cluster.md)");
        tell_of_peers();
        for (store::quorum::NodeIndex peer = 0; peer < peers.size(); ++peer)
            if (peers[peer]) door.disconnect(peer, "this node runs on an earlier copy of its state directory");
    }

    void on_peer(store::quorum::NodeIndex peer, std::optional<store::quorum::BootNumber> boot) override {
        peers[peer] = boot;
        tell_of_peers();
    }

    /// Notifies the store and `on_peer` of changes to which peers are connected and may take part.
    void tell_of_peers() {
        for (store::quorum::NodeIndex peer = 0; peer < peers.size(); ++peer) {
            const bool takes_part = peers[peer] && known.may_take_part(peer, *peers[peer]);
            const std::optional<store::quorum::BootNumber> life = takes_part ? peers[peer] : std::nullopt;
            if (life == taking_part[peer]) continue;
            taking_part[peer] = life;
            store.set_peer(peer, life);
            if (parts.on_peer) parts.on_peer(peer, life.has_value());
        }
    }

    void on_messages(doors::peer::Life from, std::vector<codec::peer::Message> messages) override {
        if (taking_part[from.node] != from.boot) return;  // treated as lost (Q12)
        for (codec::peer::Message& message : messages) {
            if (auto* said = std::get_if<store::quorum::QuorumMessage>(&message))
                store.receive({from.node, config.node, from.boot, config.boot, std::move(*said)});
            else if (parts.on_log_message)
                parts.on_log_message(from.node, std::get<consensus::LogMessage>(message));
        }
    }

    std::optional<lease::Lease> leader() {
        Read read;
        store.acceptor().records().update(election::leader_resource("log"), read);
        if (read.record.leases.empty()) return std::nullopt;
        config.rates().to_usable(read.record, store_clock_now());
        return read.record.leases.front();
    }

    QuorumStatus quorum_status();

    Parts parts;
    const store::quorum::QuorumConfig config;
    const Instant silent_till;
    store::quorum::QuorumStore store;
    TokenCeiling ceiling;
    ClusterPeers known;
    std::vector<std::optional<store::quorum::BootNumber>> peers;        ///< boot numbers of the connected peers
    std::vector<std::optional<store::quorum::BootNumber>> taking_part;  ///< those that the store was notified of
    bool writing_founders = false;
    Instant write_founders_at{};
    bool writing_lives = false;
    std::optional<Error> lives_refused;  ///< why the last write of incarnations failed
    Instant write_lives_at{};
    doors::peer::PeerDoor door;
    Driver* driver = nullptr;
    bool silent = false;          ///< and the log says so
    bool said_to_be_old = false;  ///< likewise
};

Cluster::Cluster(Parts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}

Cluster::~Cluster() {
    impl_->store.stop();
}

store::DrivenStore& Cluster::store() {
    return impl_->store;
}

void Cluster::restore(std::string_view resource, const lease::Record& record,
                      const store::quorum::RegisterBallots& ballots) {
    impl_->store.acceptor().restore(resource, ballots, record);
}

void Cluster::for_each(const statefile::StateDb::TakeUp& save) {
    impl_->store.acceptor().for_each_register([&](std::string_view resource,
                                                  const store::quorum::RegisterBallots& ballots,
                                                  const lease::Record& record) { save(resource, record, ballots); });
}

statefile::AcceptorMarks Cluster::marks() {
    const store::quorum::Acceptor& acceptor = impl_->store.acceptor();
    statefile::AcceptorMarks marks{acceptor.highest_token(), acceptor.forgotten().counter, acceptor.forgotten()};
    acceptor.for_each_register(
        [&](std::string_view, const store::quorum::RegisterBallots& ballots, const lease::Record&) {
            marks.highest_counter = std::max(marks.highest_counter, ballots.promised.counter);
        });
    return marks;
}

Driven Cluster::driven() {
    return {[this](Instant now) { impl_->advance(now); }, [this] { return impl_->next_due(); }};
}

Result<void> Cluster::start(Driver& driver) {
    impl_->driver = &driver;
    const auto address = impl_->door.start();
    if (!address) return address.error();
    impl_->parts.log.info("talking to the other members on " + *address);
    return {};
}

void Cluster::stop(std::function<void()> done) {
    impl_->store.stop();
    impl_->door.stop(std::move(done));
}

QuorumStatus Cluster::Impl::quorum_status() {
    QuorumStatus status{.settings = parts.settings,
                        .peers = door.status(),
                        .now = store_clock_now(),
                        .founded = known.founding.founded(),
                        .votes = {},
                        .silent_for = store.acceptor().silent_for(),
                        .leader = leader(),
                        .log = {},
                        .attempts = store.counts()};
    doors::peer::PeerStatus& own = status.peers.peers[config.node];
    own.boot = config.boot;
    own.silent_for = status.silent_for;
    for (store::quorum::NodeIndex node = 0; node < peers.size(); ++node) {
        const bool is_out = node == config.node && said_to_be_old;  // Q12
        status.votes.push_back(status.founded && store.votes(node) && !is_out);
    }
    if (parts.log_status) status.log = parts.log_status();
    return status;
}

std::string Cluster::status() {
    return impl_->quorum_status().to_json();
}

std::optional<doors::http::Trouble> Cluster::trouble() {
    const QuorumStatus status = impl_->quorum_status();
    const std::size_t members = status.peers.peers.size();
    const std::size_t majority = impl_->config.majority();
    if (status.founded && status.voting() >= majority) return std::nullopt;
    for (const doors::peer::PeerStatus& peer : status.peers.peers)
        if (!peer.boot && !peer.last_refusal.empty())
            return doors::http::Trouble{
                "refused", fmt::format("this node and {} do not talk to each other: {}; the log says what to do "
                                       "(docs/cluster.md)",
                                       peer.id, peer.last_refusal)};
    if (const std::string& code = status.peers.last_refusal; status.reachable() == 1 && !code.empty())
        return doors::http::Trouble{
            "refused", fmt::format("this node and one that connects to it do not talk to each other: {}; the log says "
                                   "what to do (docs/cluster.md)",
                                   code)};
    if (!status.founded)
        return doors::http::Trouble{
            "not_founded", "the cluster begins once all of its members have met; start those that are missing"};
    if (impl_->lives_refused && impl_->known.lives.to_write())
        return doors::http::Trouble{
            "storage_failed",
            fmt::format("the latest starts of other members cannot be saved, so this node takes part in "
                        "nothing with them: {}. Free disk space, or check the disk",
                        impl_->lives_refused->message)};
    const std::string counted = fmt::format("{} of {} members vote, {} are needed", status.voting(), members, majority);
    if (status.reachable() >= majority)
        return doors::http::Trouble{
            "silent",
            counted +
                ": others are connected, but silent after an unclean stop until every lease that they may "
                "have forgotten has expired; wait, and restart nothing",
            impl_->store.decides_in()};
    return doors::http::Trouble{
        "no_majority",
        fmt::format("{}, and this node reaches only {}; start the others, or check the network between them", counted,
                    status.reachable())};
}

void Cluster::add_numbers(doors::http::MetricNumbers& numbers) {
    const QuorumStatus status = impl_->quorum_status();
    const auto seconds = [](Duration duration) { return std::chrono::duration<double>(duration).count(); };
    const auto add = [&](const char* name, const char* help, double value) { numbers.push_back({name, help, value}); };
    add("holdfast_quorum_members", "Members of the cluster", static_cast<double>(status.peers.peers.size()));
    add("holdfast_quorum_majority", "How many of them have to agree", static_cast<double>(impl_->config.majority()));
    add("holdfast_quorum_reachable", "Members that are connected, this one included",
        static_cast<double>(status.reachable()));
    add("holdfast_quorum_voting", "Members that are connected and take part in decisions, this one included",
        static_cast<double>(status.voting()));
    add("holdfast_quorum_silent_seconds", "How long this node takes part in no decision", seconds(status.silent_for));
    add("holdfast_quorum_leads_log", "Whether this node leads the replicated log",
        status.log && status.log->leads ? 1 : 0);
    add("holdfast_quorum_log_led", "Whether this node knows who leads the replicated log", status.leader ? 1 : 0);
    for (std::size_t member = 0; member < status.peers.peers.size(); ++member) {
        const doors::peer::PeerStatus& peer = status.peers.peers[member];
        if (peer.self) continue;
        const std::map<std::string, std::string> labels{{"peer", peer.id}};
        numbers.push_back(
            {"holdfast_quorum_peer_connected", "Whether the peer is connected", peer.boot ? 1.0 : 0.0, false, labels});
        numbers.push_back({"holdfast_quorum_peer_voting", "Whether the peer takes part in decisions",
                           status.votes[member] ? 1.0 : 0.0, false, labels});
        if (peer.round_trip)
            numbers.push_back({"holdfast_quorum_peer_round_trip_seconds", "The way to the peer and back, smoothed",
                               seconds(*peer.round_trip), false, labels});
        numbers.push_back({"holdfast_quorum_peer_dropped_total",
                           "Messages to the peer that were lost for want of a connection or of room",
                           static_cast<double>(peer.messages_dropped), true, labels});
    }
    const auto count = [&](const char* name, const char* help, std::uint64_t value) {
        numbers.push_back({name, help, static_cast<double>(value), true});
    };
    count("holdfast_quorum_attempts_total", "Rounds of voting that this node began", status.attempts.attempts);
    count("holdfast_quorum_attempts_failed_total", "Those that failed", status.attempts.failed);
    count("holdfast_quorum_given_up_total", "Updates that were given up", status.attempts.given_up);
    add("holdfast_token_headroom", token_headroom_help, static_cast<double>(impl_->store.acceptor().token_headroom()));
}

void Cluster::send(store::quorum::NodeIndex to, const consensus::LogMessage& message) {
    impl_->door.send(to, message);
}

}  // namespace holdfast::server
