#pragma once

#include <deque>
#include <map>
#include <string>

#include "authority/pace.h"

namespace holdfast::authority {

/// The work that the authority does in steps, so that no request holds up the others, however many leases it is about.
///
/// The first step of a request runs at once, in the request's own time. All others run in advance(), in turn. Of each
/// holder one request is worked on at a time: so a holder waits at most until the leases of the others were handled
/// once, however many requests they send.
class LongWork {
 public:
    /// The allowance of a first step: about a millisecond.
    static constexpr std::size_t units_at_once = 1000;
    /// The number of holders whose requests are worked on in turn. Their answers grow meanwhile, to 8 MiB at most
    /// (limits::verified_bytes_of_holder); those of the others do not.
    static constexpr std::size_t holders_at_once = 8;

    /// Runs the first step. An empty holder: the authority's own work, which is always in turn.
    void run(const std::string& holder, WorkStep step);
    /// The same for own work that no request should pay for: it begins in advance().
    void add(WorkStep step);
    /// Runs steps, within the allowance.
    void advance(Allowance& allowance);
    bool has_more() const { return !in_turn_.empty(); }
    /// Does all work that is left, and from now on all work at once: no turn will follow.
    void finish();

 private:
    void queue(const std::string& holder, WorkStep step);
    void run_next(Allowance& allowance);
    void pass_on(const std::string& holder);

    std::map<std::string, std::deque<WorkStep>> work_;  // by holder
    std::deque<std::string> in_turn_, later_;           // each holder that has work is in one of them
    bool finishing_ = false;
};

}  // namespace holdfast::authority
