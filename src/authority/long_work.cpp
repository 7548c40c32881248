#include "authority/long_work.h"

#include <cstdint>
#include <utility>

namespace holdfast::authority {

void LongWork::run(const std::string& holder, WorkStep step) {
    Allowance allowance(finishing_ ? SIZE_MAX : units_at_once);
    if (step(allowance)) queue(holder, std::move(step));
}

void LongWork::add(WorkStep step) {
    if (finishing_) return run({}, std::move(step));
    queue({}, std::move(step));
}

void LongWork::queue(const std::string& holder, WorkStep step) {
    std::deque<WorkStep>& work = work_[holder];
    work.push_back(std::move(step));
    if (work.size() > 1) return;
    const bool has_turn = holder.empty() || in_turn_.size() < holders_at_once;
    (has_turn ? in_turn_ : later_).push_back(holder);
}

void LongWork::advance(Allowance& allowance) {
    while (has_more() && !allowance.is_used_up())
        run_next(allowance);
}

void LongWork::finish() {
    finishing_ = true;
    Allowance all(SIZE_MAX);
    while (has_more())
        run_next(all);
}

/// The step may call the authority, and so begin more work, also of this holder.
void LongWork::run_next(Allowance& allowance) {
    const std::string holder = std::move(in_turn_.front());
    in_turn_.pop_front();
    WorkStep& step = work_.at(holder).front();
    if (step(allowance))
        in_turn_.push_back(holder);
    else
        pass_on(holder);
}

/// A request of this holder is done: the turn goes to the holder that has waited longest.
void LongWork::pass_on(const std::string& holder) {
    const auto done = work_.find(holder);
    done->second.pop_front();
    if (done->second.empty())
        work_.erase(done);
    else
        later_.push_back(holder);
    if (later_.empty() || in_turn_.size() >= holders_at_once) return;
    in_turn_.push_back(std::move(later_.front()));
    later_.pop_front();
}

}  // namespace holdfast::authority
