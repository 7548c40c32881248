#include "sim/node.h"

#include <algorithm>

#include "sim/node_life.h"

namespace holdfast::sim {

QuorumConfig quorum_config(const Scenario& scenario, unsigned node, BootNumber boot) {
    QuorumConfig config;
    config.node = static_cast<NodeIndex>(node);
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

/// A machine that starts shows any time, and its clock runs as far off as is allowed, or anything less (Q7).
void Node::reset_clock() {
    const auto most = static_cast<std::int64_t>(parts_.scenario.rho * 1e6);
    const std::int64_t ppm = dice_.chance(0.3)   ? most
                             : dice_.chance(0.4) ? -most
                                                 : static_cast<std::int64_t>(dice_.below(2 * most + 1)) - most;
    // Boot clocks do not go back for who asks on one node, so each starts above whatever the last one showed.
    const Duration shown = clock_.reading(parts_.events.now());
    clock_ = SimClock{{shown + dice_.between(1min, 72h), ppm}};
    wall_offset_ = dice_.between(-48h, 48h);
}

QuorumStore* Node::store() {
    return life_ ? &life_->store() : nullptr;
}

void Node::start() {
    if (life_ || starting_) return;
    starting_ = true;
    const auto found = std::make_shared<OnDisk>();  // read in its turn, behind what the former life has written
    disk_.write(
        [found](OnDisk& disk) {
            *found = disk;
            ++disk.boot;
            disk.saved.reset();
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
    const bool first = found.boot == 0;
    const bool clean = found.saved.has_value();
    note("starts, boot ", boot_, first ? ", for the first time" : clean ? ", after a clean stop" : ", silent");
    const Instant now = local_now();
    const auto wall = 1'700'000'000'000ms + wall_offset_ + parts_.events.now().time_since_epoch();
    const QuorumConfig config = quorum_config(parts_.scenario, parts_.index, boot_);
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
        .post =
            [this](Callback<> function) {
                const auto shared = std::make_shared<Callback<>>(std::move(function));
                post([shared] { (*shared)(); });
            },
        .send = parts_.send,
        .send_log = [this](NodeIndex to, LogMessage message) { parts_.send_log(to, std::move(message)); },
        .on_applied = [this](LogIndex index,
                             const std::string& entry) { parts_.log_checker.applied(parts_.index, index, entry); },
    });
    wakes_at_ = TrueInstant::max();
    do_now([](Life&) {});
    parts_.started(parts_.index);
}

/// Takes the life away without ending it, so that what it still does reaches nobody.
std::unique_ptr<Node::Life> Node::end_life() {
    ++lives_;
    starting_ = false;
    backlog_.clear();
    paused_until_ = {};
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
    if (backlog_.size() < backlog_most) backlog_.push_back(std::move(work));
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

void Node::post(std::function<void()> function) {
    parts_.events.after(Duration::zero(), [this, life = lives_, function = std::move(function)] {
        if (life == lives_) run([function](Life&) { function(); });
    });
}

void Node::observe_log() {
    parts_.log_checker.stands(parts_.index, life_->state().status(), life_->state().agreed(),
                              life_->authority().policy());
}

const ReplicatedState* Node::state() const {
    return life_ ? &life_->state() : nullptr;
}

/// Q11: the acceptor's ceiling is raised ahead of need.
void Node::keep_ceilings() {
    if (const auto wanted = life_->store().acceptor().wants_ceiling()) write_ceiling(*wanted);
}

void Node::write_ceiling(Token ceiling) {
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

void Node::receive(Envelope envelope) {
    run([envelope = std::move(envelope)](Life& life) { life.store().receive(envelope); });
}

void Node::receive_log(unsigned from, LogMessage message) {
    run([from, message = std::move(message)](Life& life) {
        life.state().receive(static_cast<NodeIndex>(from), message);
    });
}

void Node::set_peer(unsigned peer, std::optional<BootNumber> boot) {
    run([peer, boot](Life& life) {
        life.store().set_peer(static_cast<NodeIndex>(peer), boot);
        life.state().on_peer(static_cast<NodeIndex>(peer), boot.has_value());
    });
}

void Node::ask(Ask work) {
    run([work = std::move(work), life = lives_](Life& one) { work(one.authority(), life); });
}

void Node::answer(std::uint64_t life, Network::Place to, EventQueue::Action deliver) {
    if (life != lives_ || !life_) return;
    parts_.network.carry(parts_.network.place_of_node(parts_.index), to, Network::Doubles::never, std::move(deliver));
}

}  // namespace holdfast::sim
