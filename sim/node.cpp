#include "sim/node.h"

#include <algorithm>

#include "sim/node_life.h"

namespace holdfast::sim {

store::quorum::QuorumConfig quorum_config(const Scenario& scenario, unsigned node, store::quorum::BootNumber boot) {
    store::quorum::QuorumConfig config;
    config.node = static_cast<store::quorum::NodeIndex>(node);
    config.members = static_cast<std::uint8_t>(scenario.nodes);
    config.boot = boot;
    config.longest_ttl = longest_ttl;
    config.rho = scenario.rho;
    return config;
}

Node::Node(Parts parts)
    : parts_(std::move(parts)),
      name_("node " + std::to_string(parts_.index)),
      dice_(Dice::part(parts_.scenario.seed, 100 + parts_.index)),
      disk_(parts_.events, Dice::part(parts_.scenario.seed, 200 + parts_.index)) {
    reset_clock();
}

Node::~Node() = default;

void Node::close() {
    if (life_) end_life()->bury();
}

/// A starting machine shows any time, and its clock's rate is off by at most rho (Q7).
void Node::reset_clock() {
    const auto most = static_cast<std::int64_t>(parts_.scenario.rho * 1e6);
    const std::int64_t ppm = dice_.chance(0.3)   ? most
                             : dice_.chance(0.4) ? -most
                                                 : static_cast<std::int64_t>(dice_.below(2 * most + 1)) - most;
    // A client of one node must not see its boot clock go back, so each clock starts above the last one's reading.
    const Duration shown = clock_.reading(parts_.events.now());
    clock_ = SimClock{{shown + dice_.between(1min, 72h), ppm}};
    wall_offset_ = dice_.between(-48h, 48h);
}

store::quorum::QuorumStore* Node::store() {
    return life_ ? &life_->store() : nullptr;
}

void Node::start() {
    if (life_ || starting_) return;
    starting_ = true;
    const auto found = std::make_shared<OnDisk>();  // read in its turn, after the writes of the former incarnation
    disk_.write(
        [found, incarnation = lives_ + 2](OnDisk& disk) {
            *found = disk;
            ++disk.boot;
            disk.saved.reset();
            found->lives.push_back({disk.boot, incarnation});
            disk.lives = found->lives;
        },
        [this, found, life = ++lives_](const Result<void>& written) {
            if (life != lives_) return;
            starting_ = false;
            if (written) return begin_life(*found);
            parts_.events.after(1s, [this, life] {
                if (life == lives_) start();
            });
        });
}

void Node::begin_life(const OnDisk& found) {
    boot_ = found.boot + 1;
    if (found.saved && !disk_.is_copy()) {
        copy_ = found;
        copy_->lives.pop_back();
    }
    peers_.emplace(store::quorum::PeerLives::Parts{static_cast<store::quorum::NodeIndex>(parts_.index),
                                                   parts_.scenario.nodes, found.lives, found.peer_lives});
    connected_.assign(parts_.scenario.nodes, std::nullopt);
    taking_part_ = connected_;
    writing_lives_ = false;
    const bool first = found.boot == 0;
    const bool clean = found.saved.has_value();
    note("starts, boot ", boot_, first ? ", for the first time" : clean ? ", after a clean stop" : ", silent");
    const Instant now = local_now();
    const auto wall = 1'700'000'000'000ms + wall_offset_ + parts_.events.now().time_since_epoch();
    const store::quorum::QuorumConfig config = quorum_config(parts_.scenario, parts_.index, boot_);
    const Duration silence = first ? Duration::zero() : clean ? found.saved->silent_for : config.silence();
    parts_.log_checker.starts(parts_.index);
    life_ = std::make_unique<Life>(Life::Start{
        .config = config,
        .found = found,
        .now = now,
        .silent_until = silence > Duration::zero() ? now + silence : Instant{},
        .wall_ms = std::chrono::duration_cast<std::chrono::milliseconds>(wall).count(),
        .seed = dice_.number(),
        .disk = disk_,
        .in_life =
            [this, life = lives_](const std::function<void()>& then) {
                if (life == lives_) run([then](Life&) { then(); });
            },
        .send = parts_.send,
        .send_log = [this](store::quorum::NodeIndex to,
                           consensus::LogMessage message) { parts_.send_log(to, std::move(message)); },
        .on_applied = [this](consensus::LogIndex index,
                             const std::string& entry) { parts_.log_checker.applied(parts_.index, index, entry); },
    });
    wakes_at_ = TrueInstant::max();
    do_now([](Life&) {});
    parts_.started(parts_.index);
}

/// Detaches the incarnation without stopping it, so that nothing it still does has an effect.
std::unique_ptr<Node::Life> Node::end_life() {
    ++lives_;
    starting_ = false;
    backlog_.clear();
    paused_until_ = {};
    peers_.reset();
    return std::move(life_);
}

void Node::crash(bool reboot) {
    if (!life_ && !starting_) return;
    note(reboot ? "reboots" : "crashes");
    const std::unique_ptr<Life> dead = end_life();
    disk_.crash();
    if (dead) dead->bury();
    if (reboot) reset_clock();
}

void Node::stop(Duration down) {
    if (!life_) return;
    note("is told to stop");
    run([](Life& life) { life.stop(); });
    stop_soon(down);
}

void Node::stop_soon(Duration down) {
    parts_.events.after(dice_.between(50ms, 500ms), [this, down, life = lives_] {
        if (life != lives_) return;
        parts_.events.now() < paused_until_ ? stop_soon(down) : finish_stop(down);
    });
}

void Node::finish_stop(Duration down) {
    note("has stopped");
    const std::unique_ptr<Life> ended = end_life();
    auto [saved, counter] = ended->hand_over();
    disk_.write(
        [saved = std::move(saved), counter](OnDisk& disk) {
            disk.saved = saved;
            disk.counter = counter;
        },
        [](const Result<void>&) {});
    ended->bury();
    parts_.events.after(down, [this] { start(); });
}

void Node::pause_for(Duration duration) {
    if (!life_) return;
    note("is paused for ", seconds_text(duration));
    paused_until_ = std::max(paused_until_, parts_.events.now() + duration);
    parts_.events.at(paused_until_, [this, life = lives_] {
        if (life != lives_ || parts_.events.now() < paused_until_) return;
        note("wakes");
        const auto backlog = std::move(backlog_);
        backlog_.clear();
        for (const Work& work : backlog)
            if (life == lives_) run(work);
        if (life == lives_) run([](Life&) {});
    });
}

void Node::run(Work work) {
    if (!life_) return;
    if (parts_.events.now() >= paused_until_) return do_now(work);
    if (backlog_.size() < max_backlog) backlog_.push_back(std::move(work));
}

void Node::do_now(const Work& work) {
    const Instant now = local_now();
    life_->advance(now);
    work(*life_);
    life_->advance(now);
    keep_ceilings();
    observe_log();
    plan_next();
}

void Node::observe_log() {
    parts_.log_checker.stands(parts_.index, life_->log().status(), life_->agreement().state(),
                              life_->authority().policy());
}

const agreed::ClusterState* Node::state() const {
    return life_ ? &life_->agreement().state() : nullptr;
}

consensus::LogIndex Node::applied() const {
    return life_ ? life_->log().status().applied : 0;
}

/// Q11: the acceptor's ceiling is raised ahead of need.
void Node::keep_ceilings() {
    if (const auto wanted = life_->store().acceptor().wants_ceiling()) write_ceiling(*wanted);
}

void Node::write_ceiling(lease::Token ceiling) {
    disk_.write([ceiling](OnDisk& disk) { disk.ceiling = std::max(disk.ceiling, ceiling); },
                [this, ceiling, life = lives_](const Result<void>& written) {
                    if (life != lives_) return;
                    if (written)
                        return run([ceiling](Life& one) { one.store().acceptor().raise_token_ceiling(ceiling); });
                    parts_.events.after(1s, [this, ceiling, life] {
                        if (life == lives_) write_ceiling(ceiling);
                    });
                });
}

void Node::plan_next() {
    const Instant next = life_->next_due();
    if (next == Instant::max()) return;
    TrueInstant at = clock_.when(next.time_since_epoch());
    if (at == TrueInstant::max()) return;
    at = std::max(at, parts_.events.now() + 1us);
    if (at >= wakes_at_ && wakes_at_ > parts_.events.now()) return;
    wakes_at_ = at;
    parts_.events.at(at, [this, at, life = lives_] {
        if (life != lives_ || wakes_at_ != at) return;
        wakes_at_ = TrueInstant::max();
        if (parts_.events.now() >= paused_until_) run([](Life&) {});
    });
}

void Node::receive(store::quorum::Envelope envelope) {
    run([envelope = std::move(envelope)](Life& life) { life.store().receive(envelope); });
}

void Node::receive_log(unsigned from, consensus::LogMessage message) {
    run([from, message = std::move(message)](Life& life) {
        life.log().receive(static_cast<store::quorum::NodeIndex>(from), message);
    });
}

// ---- the incarnations of the other nodes (Q12) ----

Node::Introduction Node::introduction() const {
    return {peers_->own(), peers_->durable()};
}

bool Node::admits(unsigned peer, const Introduction& theirs) const {
    return peers_->judge(static_cast<store::quorum::NodeIndex>(peer), theirs.life, theirs.known[parts_.index]) ==
           store::quorum::PeerLives::Judgement::current;
}

void Node::meet(unsigned peer, Introduction theirs) {
    run([this, peer, theirs = std::move(theirs)](Life& life) {
        peers_->met(static_cast<store::quorum::NodeIndex>(peer), theirs.life, theirs.known);
        connected_[peer] = theirs.life;
        write_peer_lives();
        tell_of_peers(life);
    });
}

void Node::part(unsigned peer) {
    run([this, peer](Life& life) {
        connected_[peer].reset();
        tell_of_peers(life);
    });
}

void Node::write_peer_lives() {
    auto lives = peers_->to_write();
    if (!lives || writing_lives_) return;
    writing_lives_ = true;
    disk_.write([lives = *lives](OnDisk& disk) { disk.peer_lives = lives; },
                [this, lives = *lives, life = lives_](const Result<void>& written) {
                    if (life != lives_) return;
                    parts_.events.after(written ? Duration::zero() : 1s, [this, lives, life, done = bool(written)] {
                        if (life != lives_) return;
                        run([this, lives, done](Life& one) {
                            writing_lives_ = false;
                            if (done) peers_->written(lives);
                            write_peer_lives();
                            tell_of_peers(one);
                        });
                    });
                });
}

void Node::tell_of_peers(Life& life) {
    for (unsigned peer = 0; peer < connected_.size(); ++peer) {
        const auto node = static_cast<store::quorum::NodeIndex>(peer);
        const bool takes_part = connected_[peer] && peers_->may_take_part(node, *connected_[peer]);
        const std::optional<store::quorum::LifeMark> now = takes_part ? connected_[peer] : std::nullopt;
        if (now == taking_part_[peer]) continue;
        taking_part_[peer] = now;
        life.store().set_peer(node, now ? std::optional(now->boot) : std::nullopt);
        life.log().on_peer(node, now.has_value());
    }
}

bool Node::hears(unsigned peer, store::quorum::LifeMark life) const {
    if (!peers_ || !taking_part_[peer]) return false;
    return life == *taking_part_[peer] || life.boot < taking_part_[peer]->boot;
}

bool Node::put_back_copy() {
    if (!copy_ || disk_.is_copy() || !life_) return false;
    crash(false);
    note("has an earlier copy of its directory, of boot ", copy_->boot);
    disk_.put_back(*copy_);
    return true;
}

void Node::give_back() {
    if (!disk_.is_copy()) return;
    note("has its own directory again");
    crash(false);
    disk_.crash();
    disk_.give_back();
}

void Node::ask(Ask work) {
    run([work = std::move(work), life = lives_](Life& one) { work(one.authority(), life); });
}

void Node::answer(std::uint64_t life, Network::Place to, EventQueue::Action deliver) {
    if (life != lives_ || !life_) return;
    parts_.network.carry(parts_.network.place_of_node(parts_.index), to, Network::Doubles::never, std::move(deliver));
}

}  // namespace holdfast::sim
