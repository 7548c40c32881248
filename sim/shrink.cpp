#include <algorithm>

#include "sim/hunt.h"

namespace holdfast::sim {
namespace {

/// Tries smaller scenarios and keeps those that break the same rule.
class Shrinker {
 public:
    Shrinker(const Failure& failure, const ShrinkBounds& bounds, const std::function<void(const Scenario&)>& progress)
        : best_(failure.scenario),
          rule_(failure.violation.rule),
          left_(bounds.max_worlds),
          stopped_(bounds.stopped),
          progress_(progress) {}

    Scenario run() {
        std::size_t before = 0;
        do {
            before = size();
            drop_faults();
            lower(&Scenario::holders, 2);
            lower(&Scenario::resources, 1);
            lower(&Scenario::admins, 0);
            without_files();
            shorten();
        } while (size() < before && left_ > 0);
        return best_;
    }

 private:
    std::size_t size() const { return best_.faults.size() + best_.holders + best_.resources + best_.admins; }

    bool fails_alike(const Scenario& candidate) {
        if (stopped_ && stopped_()) left_ = 0;
        if (left_ == 0) return false;
        --left_;
        const Outcome outcome = World(candidate).run();
        if (!outcome.violation || outcome.violation->rule != rule_) return false;
        best_ = candidate;
        progress_(best_);
        return true;
    }

    /// Removes chunks, from half of the faults down to single ones.
    void drop_faults() {
        for (std::size_t chunk = std::max<std::size_t>(1, best_.faults.size() / 2); chunk > 0; chunk /= 2)
            for (std::size_t at = 0; at < best_.faults.size();) {
                Scenario candidate = best_;
                const auto first = candidate.faults.begin() + static_cast<std::ptrdiff_t>(at);
                const std::size_t count = std::min(chunk, candidate.faults.size() - at);
                candidate.faults.erase(first, first + static_cast<std::ptrdiff_t>(count));
                if (!fails_alike(candidate)) at += chunk;
            }
    }

    void lower(unsigned Scenario::*member, unsigned least) {
        for (unsigned step = (best_.*member + 1) / 2; step > 0; step /= 2)
            while (best_.*member >= least + step) {
                Scenario candidate = best_;
                candidate.*member -= step;
                if (!fails_alike(candidate)) break;
            }
    }

    void without_files() {
        if (!best_.files) return;
        Scenario candidate = best_;
        candidate.files = false;
        fails_alike(candidate);
    }

    void shorten() {
        while (best_.turbulent > 10s) {
            Scenario candidate = best_;
            candidate.turbulent = best_.turbulent * 3 / 4;
            std::erase_if(candidate.faults, [&](const Fault& fault) { return fault.at >= candidate.turbulent; });
            if (!fails_alike(candidate)) break;
        }
    }

    Scenario best_;
    std::string rule_;
    unsigned left_;
    std::function<bool()> stopped_;
    const std::function<void(const Scenario&)>& progress_;
};

}  // namespace

Failure shrink(const Failure& failure, const ShrinkBounds& bounds,
               const std::function<void(const Scenario&)>& progress) {
    const Scenario smaller = Shrinker(failure, bounds, progress).run();
    Outcome outcome = World(smaller, World::Traced::yes).run();
    return Failure{smaller, outcome.violation.value_or(failure.violation), std::move(outcome.trace)};
}

}  // namespace holdfast::sim
