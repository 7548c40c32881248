#include "lease/priority.h"

namespace holdfast::core {

bool older(const Rank& a, const Rank& b) {
    if (a.priority != b.priority) return a.priority < b.priority;
    if (a.agent != b.agent) return a.agent;
    if (a.agent && a.holder != b.holder) return a.holder < b.holder;
    return a.arrival < b.arrival;
}

}  // namespace holdfast::core
