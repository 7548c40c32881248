#include "store/etcd/lease_spans.h"

#include <algorithm>

namespace holdfast::store::etcd {

using cas::EngineTime;

namespace {

constexpr Duration longest = 365 * 24h;  // nothing has to last nearly as long
constexpr int spans_each = 8;

}  // namespace

LeaseSpans::Name LeaseSpans::name_of(EngineTime until, EngineTime now) {
    until = std::clamp(until, now, now + longest);
    Duration length = finest;
    while (length * spans_each < until - now)
        length *= 2;
    return {length, until.time_since_epoch() / length + 1};
}

void LeaseSpans::lasting_until(EngineTime until, EngineTime now, Granted reply) {
    const Name name = name_of(until, now);
    Span& span = get(name, now);
    if (span.lease == 0) {
        span.waiting.push_back(std::move(reply));
        return;
    }
    get({name.length, name.number + 1}, now);
    reply(span.lease);
}

LeaseSpans::Span& LeaseSpans::get(Name name, EngineTime now) {
    const auto [at, made] = spans_.try_emplace(name);
    if (made) {
        std::erase_if(spans_, [&](const auto& one) { return one.second.waiting.empty() && one.first.end() <= now; });
        const auto lasts = std::chrono::duration<double>(name.end() - now) * (1 + rho_) + margin;
        grant_(std::chrono::ceil<std::chrono::seconds>(lasts).count(),
               [this, name](Result<LeaseNumber> lease) { granted(name, std::move(lease)); });
    }
    return at->second;
}

void LeaseSpans::granted(Name name, Result<LeaseNumber> lease) {
    const auto found = spans_.find(name);
    if (found == spans_.end()) return;
    auto waiting = std::exchange(found->second.waiting, {});
    if (lease)
        found->second.lease = *lease;
    else
        spans_.erase(found);
    for (Granted& reply : waiting)
        reply(lease);
}

void LeaseSpans::forget(LeaseNumber lease) {
    std::erase_if(spans_, [&](const auto& one) { return one.second.lease == lease; });
}

void LeaseSpans::forget_all() {
    std::erase_if(spans_, [](const auto& one) { return one.second.waiting.empty(); });
}

}  // namespace holdfast::store::etcd
