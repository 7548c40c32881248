#include "store/postgres/grouping.h"

#include <algorithm>
#include <array>

namespace holdfast::postgres {
namespace {

constexpr std::size_t max_looks = 64;
constexpr std::size_t max_swaps = 512;

bool is_before(const CallPtr& a, const CallPtr& b) {
    const int order = a->name.compare(b->name);
    return order != 0 ? order < 0 : a->is_document < b->is_document;
}

void put_back_doubles(Group& group, std::deque<CallPtr>& queue) {
    std::vector<CallPtr> calls, doubles;
    for (CallPtr& call : group.calls) {
        const bool is_double = !calls.empty() && !is_before(calls.back(), call);
        (is_double ? doubles : calls).push_back(std::move(call));
    }
    group.calls = std::move(calls);
    std::for_each(doubles.rbegin(), doubles.rend(), [&](const CallPtr& call) {
        group.bytes -= call->params.size();
        queue.push_front(call);
    });
}

/// All of it as the parameters of the statement `swaps`.
Params together(const std::vector<CallPtr>& calls) {
    std::vector<const Params*> rows;
    std::int32_t makes = 0, ends = 0, tells = 0;
    std::int64_t place = 0;
    for (const CallPtr& call : calls) {
        rows.push_back(&call->params);
        makes += call->wants == Wants::to_make ? 1 : 0;
        ends += call->wants == Wants::to_end ? 1 : 0;
        tells += call->tells ? 1 : 0;
        place = std::max(place, call->position);
    }
    constexpr std::array<Type, 12> types{Type::small, Type::bytea, Type::id,  Type::id,  Type::big,  Type::big,
                                         Type::big,   Type::bytea, Type::big, Type::big, Type::text, Type::text};
    Params all;
    for (std::size_t i = 0; i < types.size(); ++i)
        all.column(rows, i, types[i]);
    all.bytes(calls.front()->marker).big(place).number(makes).number(ends).number(tells);
    return all;
}

}  // namespace

std::size_t max_in_group(const Call& call) {
    if (call.alone) return 1;
    return call.wants == Wants::nothing_of_this ? max_looks : max_swaps;
}

void arrange(Group& group, std::deque<CallPtr>& queue) {
    std::stable_sort(group.calls.begin(), group.calls.end(), is_before);
    if (group.calls.size() < 2 || group.calls.front()->wants == Wants::nothing_of_this) return;
    put_back_doubles(group, queue);
    if (group.calls.size() > 1) group.together = together(group.calls);
}

}  // namespace holdfast::postgres
