#include "supervise/guardian_rules.h"

#include <algorithm>

namespace holdfast {

GuardianRules::GuardianRules(WorkDeadlines deadlines)
    : soft_(std::min(deadlines.soft, deadlines.hard)), kill_at_(deadlines.hard) {}

void GuardianRules::renewed(WorkDeadlines deadlines) {
    if (stopping_) return;
    *this = GuardianRules{deadlines};
}

void GuardianRules::stop(HolderInstant kill_at) {
    stopping_ = true;
    kill_at_ = std::min(kill_at_, kill_at);
}

GuardianRules::Step GuardianRules::step(HolderInstant now) {
    if (now >= soft_) stopping_ = true;
    if (now >= kill_at_) {
        stopping_ = true;
        return Step::kill;
    }
    if (!stopping_ || terminated_) return Step::none;
    terminated_ = true;
    return Step::terminate;
}

}  // namespace holdfast
