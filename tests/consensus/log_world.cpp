#include "consensus/log_world.h"

#include <algorithm>
#include <utility>

namespace holdfast::consensus {
namespace {

/// A history as text: `index:value;`, values having neither sign.
std::string encode(const std::map<LogIndex, std::string>& history) {
    std::string text;
    for (const auto& [index, value] : history)
        text += std::to_string(index) + ':' + value + ';';
    return text;
}

std::map<LogIndex, std::string> decode(const std::string& text) {
    std::map<LogIndex, std::string> history;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t colon = text.find(':', at);
        const std::size_t end = text.find(';', colon);
        history[std::stoull(text.substr(at, colon - at))] = text.substr(colon + 1, end - colon - 1);
        at = end + 1;
    }
    return history;
}

}  // namespace

void WorldDisk::complete(bool fails) {
    Job job = std::move(queue_.front());
    queue_.pop_front();
    if (fails) return job.done(Error{Code::storage_failed, "the disk is full"});
    store(job.write);
    job.done({});
}

void WorldDisk::crash(bool reached) {
    if (reached && busy()) store(queue_.front().write);
    queue_.clear();
}

void WorldDisk::store(const LogWrite& write) {
    if (write.promised) found_.promised = *write.promised;
    if (write.committed) found_.committed = *write.committed;
    std::map<LogIndex, LogDecree> decrees;
    for (const auto* some : {&std::as_const(found_.decrees), &write.decrees})
        for (const LogDecree& decree : *some)
            decrees.insert_or_assign(decree.index, decree);
    if (write.snapshot) found_.snapshot = write.snapshot;
    if (found_.snapshot) decrees.erase(decrees.begin(), decrees.upper_bound(found_.snapshot->index));
    found_.decrees.clear();
    for (auto& [index, decree] : decrees)
        found_.decrees.push_back(std::move(decree));
}

LogWorld::LogWorld(Options options) : options_(options), nodes_(options.nodes) {
    for (store::quorum::NodeIndex node = 0; node < options_.nodes; ++node) {
        nodes_[node].disk = std::make_unique<WorldDisk>();
        start(node);
    }
}

LogWorld::~LogWorld() = default;

void LogWorld::start(store::quorum::NodeIndex index) {
    Node& node = nodes_[index];
    node.history.clear();
    node.last_applied = 0;
    ReplicatedLog::Parts parts{
        .node = index,
        .members = options_.nodes,
        .disk = *node.disk,
        .found = node.disk->found(),
        .seed = ++lives_,
        .entries_before_snapshot = options_.entries_before_snapshot,
        .send =
            [this, index](store::quorum::NodeIndex to, LogMessage message) {
                messages_.push_back({index, to, std::move(message)});
            },
        .apply = [this, index](LogIndex place, const std::string& value) { on_apply(index, place, value); },
        .take_snapshot = [this, index] { return encode(nodes_[index].history); },
        .install = [this, index](const std::string& state) { on_install(index, state); }};
    node.log = std::make_unique<ReplicatedLog>(std::move(parts));
    node.log->advance(now_);
}

void LogWorld::lead(store::quorum::NodeIndex node) {
    ++seen_.takeovers;
    log(node).lead(++term_);
}

int LogWorld::submit(store::quorum::NodeIndex node) {
    const int number = ++submitted_;
    const std::string value = "v" + std::to_string(number);
    log(node).append(value, [this, node, value, number](const Result<LogIndex>& outcome) {
        on_answer(node, value, outcome, number);
    });
    return number;
}

std::optional<Result<LogIndex>> LogWorld::outcome(int number) const {
    const auto found = outcomes_.find(number);
    return found != outcomes_.end() ? std::optional(found->second) : std::nullopt;
}

std::vector<std::string> LogWorld::applied(store::quorum::NodeIndex node) const {
    std::vector<std::string> values;
    for (const auto& [index, value] : nodes_[node].history)
        values.push_back(value);
    return values;
}

void LogWorld::crash(store::quorum::NodeIndex node, bool write_reached) {
    nodes_[node].log.reset();
    nodes_[node].disk->crash(write_reached);
}

void LogWorld::restart(store::quorum::NodeIndex node) {
    ++seen_.restarts;
    start(node);
}

void LogWorld::cut(store::quorum::NodeIndex from, store::quorum::NodeIndex to, bool is_cut) {
    if (is_cut)
        cuts_.insert({from, to});
    else
        cuts_.erase({from, to});
}

void LogWorld::isolate(store::quorum::NodeIndex node, bool is_cut) {
    for (store::quorum::NodeIndex other = 0; other < options_.nodes; ++other) {
        cut(node, other, is_cut);
        cut(other, node, is_cut);
    }
}

void LogWorld::pass(Duration time) {
    now_ += time;
    for (Node& node : nodes_)
        if (node.log) node.log->advance(now_);
}

void LogWorld::deliver(std::size_t which, bool keep) {
    const Message message = messages_[which];
    if (!keep) messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(which));
    if (cuts_.contains({message.from, message.to}) || !up(message.to)) return;
    log(message.to).receive(message.from, message.content);
}

void LogWorld::complete_write(store::quorum::NodeIndex index) {
    Node& node = nodes_[index];
    if (!node.log || node.stalled || !node.disk->busy()) return;
    seen_.failed_writes += node.failing ? 1 : 0;
    node.disk->complete(node.failing);
}

void LogWorld::quiet() {
    for (bool more = true; more;) {
        more = false;
        for (; !messages_.empty(); more = true)
            deliver(0, false);
        for (store::quorum::NodeIndex node = 0; node < options_.nodes; ++node) {
            if (!up(node) || nodes_[node].stalled || !nodes_[node].disk->busy()) continue;
            complete_write(node);
            more = true;
        }
    }
}

void LogWorld::run(const Step& step) {
    const auto node = static_cast<store::quorum::NodeIndex>(step.which % options_.nodes);
    const auto other = static_cast<store::quorum::NodeIndex>(step.how % options_.nodes);
    Node& one = nodes_[node];
    switch (step.what) {
        case 0:
            return up(node) ? void(submit(node)) : void();
        case 1:
            return up(node) && step.how % 3 == 0 ? lead(node) : void();
        case 2:
            return up(node) ? log(node).follow(other != node ? std::optional(other) : std::nullopt) : void();
        case 3:
            return up(node) && step.how % 4 == 0 ? crash(node, step.how % 8 == 0) : void();
        case 4:
            return !up(node) ? restart(node) : void();
        case 5:
            return cut(node, other, step.how % 2 == 0);
        case 6:
            return isolate(node, step.how % 3 == 0);
        case 7:
            return pass(std::chrono::milliseconds{step.how * 20});
        case 8:
            one.stalled = step.how % 3 == 0;
            return;
        case 9:
            one.failing = step.how % 4 == 0;
            return;
        case 10:
        case 11:
        case 12:
            return complete_write(node);
        default:
            break;
    }
    if (messages_.empty()) return;
    const std::size_t which = static_cast<std::size_t>(step.which) % messages_.size();
    if (step.what == 13) return void(messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(which)));
    if (step.what == 14) return deliver(which, true);
    if (step.what == 15) return deliver(which, false);
    if (step.what < 18) return deliver(0, false);
    for (int some = 0; some < 6 && !messages_.empty(); ++some)
        deliver(0, false);
    for (store::quorum::NodeIndex each = 0; each < options_.nodes; ++each)
        complete_write(each);
}

void LogWorld::heal() {
    cuts_.clear();
    for (store::quorum::NodeIndex node = 0; node < options_.nodes; ++node) {
        nodes_[node].stalled = nodes_[node].failing = false;
        if (!up(node)) restart(node);
    }
    const auto first = static_cast<store::quorum::NodeIndex>(term_ % options_.nodes);
    for (store::quorum::NodeIndex node = 0; node < options_.nodes; ++node)
        if (node != first) log(node).follow(first);
    lead(first);
    if (!come_to_rest()) return violate("the faults have stopped and the log is stuck");
    const int last = submit(static_cast<store::quorum::NodeIndex>(options_.nodes - 1));
    if (!come_to_rest(last)) return violate("the faults have stopped and nothing can be appended");
    if (!*outcome(last)) violate("the faults have stopped and an append fails: " + outcome(last)->error().message);
    check_all_have_everything();
}

bool LogWorld::come_to_rest(std::optional<int> with) {
    const auto done = [&] { return at_rest() && (!with || outcome(*with)); };
    quiet();
    for (int rounds = 0; rounds < 100 && !done(); ++rounds) {
        pass(500ms);
        quiet();
    }
    return done();
}

bool LogWorld::at_rest() const {
    bool led = false;
    for (const Node& node : nodes_) {
        led = led || node.log->leads();
        if (node.disk->busy() || node.log->applied() != nodes_.front().log->committed()) return false;
    }
    return led;
}

void LogWorld::check_all_have_everything() {
    for (store::quorum::NodeIndex node = 0; node < options_.nodes; ++node) {
        const History& history = nodes_[node].history;
        if (history != nodes_.front().history) violate("the nodes end with different logs");
        for (const auto& [index, value] : acknowledged_) {
            const auto found = history.find(index);
            if (found == history.end() || found->second != value)
                violate(value + " was acknowledged at " + std::to_string(index) + " and is gone from node " +
                        std::to_string(node));
        }
    }
}

void LogWorld::on_apply(store::quorum::NodeIndex node, LogIndex index, const std::string& value) {
    Node& one = nodes_[node];
    const std::string who = "node " + std::to_string(node);
    if (index <= one.last_applied) violate(who + " applies " + std::to_string(index) + " twice or out of order");
    for (LogIndex skipped = one.last_applied + 1; skipped < index; ++skipped)
        if (!one.history.contains(skipped)) chosen(skipped, "", who);
    one.last_applied = index;
    one.history[index] = value;
    chosen(index, value, who);
}

void LogWorld::on_install(store::quorum::NodeIndex node, const std::string& state) {
    ++seen_.installs;
    Node& one = nodes_[node];
    const History before = std::exchange(one.history, decode(state));
    for (const auto& [index, value] : before)
        if (!one.history.contains(index))
            violate("a snapshot takes back what node " + std::to_string(node) + " applied");
    for (const auto& [index, value] : one.history)
        chosen(index, value, "a snapshot on node " + std::to_string(node));
    if (!one.history.empty()) one.last_applied = std::max(one.last_applied, one.history.rbegin()->first);
}

void LogWorld::on_answer(store::quorum::NodeIndex node, const std::string& value, const Result<LogIndex>& outcome,
                         int number) {
    outcomes_.insert_or_assign(number, outcome);
    if (!outcome) return;
    ++seen_.acknowledged;
    chosen(*outcome, value, "the acknowledgement by node " + std::to_string(node));
    acknowledged_[*outcome] = value;
    if (options_.looks_at_disks && !durable_on_a_majority(*outcome, value))
        violate(value + " is acknowledged before a majority has it on disk");
    const auto here = nodes_[node].history.find(*outcome);
    if (here == nodes_[node].history.end() || here->second != value)
        violate(value + " is acknowledged by node " + std::to_string(node) + " before it is applied there");
}

bool LogWorld::durable_on_a_majority(LogIndex index, const std::string& value) const {
    const auto has = [&](const Node& node) {
        const LogFound& found = node.disk->found();
        if (found.snapshot && index <= found.snapshot->index) return decode(found.snapshot->state)[index] == value;
        return std::any_of(found.decrees.begin(), found.decrees.end(),
                           [&](const LogDecree& decree) { return decree.index == index && decree.value == value; });
    };
    return std::count_if(nodes_.begin(), nodes_.end(), has) > options_.nodes / 2;
}

void LogWorld::chosen(LogIndex index, const std::string& value, const std::string& who) {
    const auto [at, fresh] = chosen_.try_emplace(index, value);
    if (!fresh && at->second != value)
        violate(who + " has '" + value + "' at " + std::to_string(index) + ", where another had '" + at->second + "'");
}

void LogWorld::violate(std::string what) {
    if (!violation_) violation_ = std::move(what);
}

bool LogWorld::led() const {
    return std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.log && node.log->leads(); });
}

std::optional<std::string> run_history(const RandomHistory& history, LogWorld::Seen* seen) {
    LogWorld world({.nodes = history.nodes, .looks_at_disks = history.looks_at_disks});
    Random random(history.seed);
    // Some histories are calm and get far, some are wild.
    const std::uint64_t calm = 1 + random.below(12);
    for (int i = 0; i < history.steps && !world.violation(); ++i) {
        int what = static_cast<int>(random.below(24));
        const bool is_fault = (what > 0 && what < 10) || what == 13 || what == 14;
        const bool welcome = (what == 1 && !world.led()) || what == 4;
        if (is_fault && !welcome && random.below(calm) != 0) what = what % 2 == 0 ? 0 : 20;
        world.run({what, static_cast<int>(random.below(1000)), static_cast<int>(random.below(100))});
    }
    if (!world.violation()) world.heal();
    if (seen != nullptr) *seen += world.seen();
    return world.violation();
}

}  // namespace holdfast::consensus
