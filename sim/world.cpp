#include "sim/world.h"

#include <algorithm>

namespace holdfast::sim {
namespace {

/// The time until nothing is left of the faults: a silence, then the longest lease.
constexpr Duration settling = 26s;
/// The limit for the last requests. They are granted one after the other, each at worst after a recheck of a second.
constexpr Duration served_within = 90s;
/// The limit for a change of policy to be made and known to all nodes, at worst after the loss of a leader.
constexpr Duration agreed_within = 60s;

std::vector<std::string> resources_of(const Scenario& scenario) {
    static const std::vector<std::string> files{"FILE:/a/b", "FILE:/a/**", "FILE:/a/c/d", "FILE:/a/c/**"};
    std::vector<std::string> resources;
    for (unsigned i = 0; i < scenario.resources; ++i)
        resources.push_back("r" + std::to_string(i));
    if (scenario.files) resources.insert(resources.end(), files.begin(), files.end());
    return resources;
}

}  // namespace

World::World(const Scenario& scenario, Traced traced)
    : scenario_(scenario),
      trace_(traced == Traced::yes),
      log_checker_(scenario.nodes,
                   [this](const std::string& rule, const std::string& what) { checker_.fail(rule, what); }),
      resources_(resources_of(scenario)) {
    network_ = std::make_unique<Network>(events_, scenario_);
    cluster_ = std::make_unique<Cluster>(Cluster::Parts{scenario_, events_, *network_, trace_, log_checker_});
    for (unsigned i = 0; i < scenario_.holders; ++i)
        holders_.push_back(std::make_unique<Holder>(
            Holder::Parts{i, scenario_, resources_, events_, *network_, *cluster_, checker_, trace_, work_}));
    for (unsigned i = 0; i < scenario_.admins; ++i)
        admins_.push_back(std::make_unique<Admin>(
            Admin::Parts{i, scenario_, events_, *network_, *cluster_, log_checker_, trace_, admin_work_}));
}

World::~World() {
    cluster_->close();
}

bool World::run_until(TrueInstant end) {
    while (!checker_.violation() && events_.run_next(end)) {
    }
    return !checker_.violation();
}

bool World::run_until(const std::function<bool()>& done, Duration within, const std::function<std::string()>& what) {
    const TrueInstant end = events_.now() + within;
    while (!checker_.violation() && !done() && events_.run_next(end)) {
    }
    if (!checker_.violation() && !done())
        checker_.overdue("not in " + seconds_text(within) + " after the faults were over: " + what());
    return !checker_.violation();
}

/// Every node has the whole log, and so the same policy.
bool World::all_agree() const {
    for (unsigned node = 0; node < cluster_->size(); ++node) {
        const Node& one = cluster_->node(node);
        if (!one.alive() || one.applied() < log_checker_.highest()) return false;
    }
    return true;
}

bool World::come_to_rest() {
    trace_.note(events_.now(), "world", "the faults are over");
    cluster_->calm_down();
    if (!run_until(events_.now() + settling)) return false;
    const auto all_finished = [](const auto& ones) {
        return std::all_of(ones.begin(), ones.end(), [](const auto& one) { return one->finished(); });
    };
    for (const auto& admin : admins_)
        admin->tidy_up();
    if (!run_until([&] { return all_finished(admins_); }, agreed_within, [] { return "the bans are lifted"; }))
        return false;
    if (!run_until([&] { return all_agree(); }, agreed_within, [] { return "all nodes have the same policy"; }))
        return false;
    trace_.note(events_.now(), "world", "everybody asks once more");
    for (const auto& holder : holders_)
        holder->begin_last_round();
    return run_until([&] { return all_finished(holders_); }, served_within,
                     [&] {
                         const auto waits = std::find_if(holders_.begin(), holders_.end(),
                                                         [](const auto& one) { return !one->finished(); });
                         return (*waits)->waits_for() + " and is served";
                     });
}

Outcome World::run() {
    if (run_until(TrueInstant{scenario_.turbulent}) && come_to_rest())
        if (const agreed::ClusterState* state = cluster_->node(0).state()) log_checker_.check_audit(*state);
    return {checker_.violation(), work_,
            admin_work_,          log_checker_.counts(),
            cluster_->counts(),   checker_.handovers(),
            events_.happened(),   events_.now().time_since_epoch(),
            trace_.text()};
}

}  // namespace holdfast::sim
