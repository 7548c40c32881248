#include "sim/exhaustive.h"

#include <memory>
#include <unordered_set>

#include "sim/small_cluster.h"

namespace holdfast::sim {
namespace {

class Search {
 public:
    explicit Search(const SearchBounds& bounds) : bounds_(bounds) {}

    Searched run() {
        start_over();
        visit();
        return std::move(found_);
    }

 private:
    struct Used {
        unsigned losses = 0, crashes = 0, early = 0, timers = 0;
    };

    void start_over() { cluster_ = std::make_unique<SmallCluster>(); }

    void replay() {
        start_over();
        for (const Step& step : path_)
            cluster_->take(step);
        found_.steps += path_.size();
    }

    bool over() const { return found_.violation.has_value() || !found_.complete; }

    std::vector<Step> possible() const {
        std::vector<Step> steps;
        const auto& messages = cluster_->under_way();
        for (const auto& [number, envelope] : messages)
            steps.push_back({Step::Kind::deliver, envelope.to, number});
        if (used_.losses < bounds_.losses)
            for (const auto& [number, envelope] : messages)
                steps.push_back({Step::Kind::lose, envelope.to, number});
        if (used_.crashes < bounds_.crashes)
            for (unsigned node = 0; node < SmallCluster::nodes; ++node)
                steps.push_back({Step::Kind::crash, node, 0});
        const bool may_fire = used_.timers < bounds_.timers && (messages.empty() || used_.early < bounds_.early_timers);
        for (unsigned node = 0; may_fire && node < SmallCluster::nodes; ++node)
            if (cluster_->has_timer(node)) steps.push_back({Step::Kind::fire, node, 0});
        return steps;
    }

    void count(const Step& step, bool early, int by) {
        const auto add = [by](unsigned& number) { number = static_cast<unsigned>(static_cast<int>(number) + by); };
        if (step.kind == Step::Kind::lose) add(used_.losses);
        if (step.kind == Step::Kind::crash) add(used_.crashes);
        if (step.kind == Step::Kind::fire) add(used_.timers);
        if (step.kind == Step::Kind::fire && early) add(used_.early);
    }

    /// REQUIRES: the cluster is at the end of the path.
    void visit() {
        found_.longest = std::max(found_.longest, path_.size());
        if (const auto wrong = cluster_->violation()) return fail(*wrong);
        const std::vector<Step> steps = cluster_->all_answered() ? std::vector<Step>{} : possible();
        bool here = true;
        bool went_on = false;
        const bool early = !cluster_->under_way().empty();
        for (const Step& step : steps) {
            if (!here) replay();
            here = true;
            went_on = true;
            // The histories show which other bounds were used up.
            const bool fires_early = early && step.kind == Step::Kind::fire;
            if (!seen_.insert(cluster_->state_after(step) + used_.early + (fires_early ? 1 : 0)).second) continue;
            if (++found_.states > bounds_.max_states || (bounds_.stopped && bounds_.stopped())) {
                found_.complete = false;
                return;
            }
            cluster_->take(step);
            ++found_.steps;
            path_.push_back(step);
            count(step, early, 1);
            visit();
            if (over()) return;
            count(step, early, -1);
            path_.pop_back();
            here = false;
        }
        if (!went_on) finish();
    }

    void finish() {
        ++found_.executions;
        const int granted = int{cluster_->granted(0)} + int{cluster_->granted(1)};
        if (!cluster_->all_answered())
            ++found_.unanswered;
        else
            ++(granted == 0 ? found_.granted_none : found_.granted_one);
        if (const auto wrong = cluster_->violation_at_end()) fail(*wrong);
    }

    void fail(const Violation& violation) {
        found_.violation = violation;
        start_over();
        for (const Step& step : path_) {
            found_.steps_to_it.push_back(cluster_->describe(step));
            cluster_->take(step);
        }
    }

    SearchBounds bounds_;
    Searched found_;
    std::unique_ptr<SmallCluster> cluster_;
    std::vector<Step> path_;
    Used used_;
    std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

Searched search(const SearchBounds& bounds) {
    return Search(bounds).run();
}

}  // namespace holdfast::sim
