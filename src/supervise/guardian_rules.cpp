#include "supervise/guardian_rules.h"

#include <algorithm>

namespace holdfast::supervise {

GuardianRules::GuardianRules(WorkDeadlines deadlines)
    : soft_(std::min(deadlines.soft, deadlines.hard)), kill_at_(deadlines.hard) {}

void GuardianRules::renewed(WorkDeadlines deadlines) {
    if (stopping_) return;
    soft_ = std::min(deadlines.soft, deadlines.hard);
    kill_at_ = deadlines.hard;
}

void GuardianRules::command_ended(HolderInstant now) {
    if (stopping_) return;
    rest_stopping_ = true;
    rest_kill_at_ = now + (asked_ ? grace_when_asked : grace_when_command_ended);
}

void GuardianRules::stop(HolderInstant kill_at) {
    stopping_ = true;
    kill_at_ = std::min(kill_at_, kill_at);
}

GuardianRules::Step GuardianRules::step(HolderInstant now) {
    if (now >= soft_) stopping_ = true;
    if (now >= kill_at_) stopping_ = true;
    if (now >= kill_at()) return Step::kill;
    if (!stopping_ && !rest_stopping_) return Step::none;
    if (terminated_) return Step::none;
    terminated_ = true;
    return Step::terminate;
}

HolderInstant GuardianRules::kill_at() const {
    return std::min(kill_at_, rest_kill_at_);
}

HolderInstant GuardianRules::wake_at() const {
    return stopping_ ? kill_at() : std::min(soft_, kill_at());
}

}  // namespace holdfast::supervise
