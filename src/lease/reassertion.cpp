#include "lease/reassertion.h"

#include <algorithm>

namespace holdfast::core {
namespace {

/// True if the record has anything other than this very lease, or anything newer.
bool knows_better(const Record& record, const Reassertion& reassertion) {
    if (record.last_token > reassertion.token || record.find_ended(reassertion.token) != nullptr) return true;
    return std::any_of(record.leases.begin(), record.leases.end(), [&](const Lease& lease) {
        return lease.token != reassertion.token || lease.holder != reassertion.holder ||
               lease.session != reassertion.session;
    });
}

bool is_free(const Record& record, const Neighbours& neighbours, const Reassertion& reassertion, Instant now) {
    Claim claim;
    claim.holder = reassertion.holder;
    claim.session = reassertion.session;
    return standing_of(record, neighbours, claim, now).free();
}

Lease lease_of(const Reassertion& reassertion, Instant now) {
    Lease lease;
    lease.token = reassertion.token;
    lease.ttl = reassertion.ttl;
    lease.acquired_at = lease.held_since = std::chrono::floor<std::chrono::milliseconds>(now);
    lease.holder = reassertion.holder;
    lease.session = reassertion.session;
    lease.reason = reassertion.reason;
    lease.metadata = reassertion.metadata;
    return lease;
}

}  // namespace

RenewVerdict reassert(Record& record, const Neighbours& neighbours, const Reassertion& reassertion,
                      const Policy& policy, Instant now) {
    settle(record, now);
    if (const auto barred = bar_to(policy, reassertion.holder, reassertion.resource)) return Rejected{*barred};
    const auto ttl = decide_exact_ttl(policy, reassertion.ttl);
    if (const auto* refused = std::get_if<RefusedTtl>(&ttl)) return Rejected{refused->code};
    if (knows_better(record, reassertion) || !is_free(record, neighbours, reassertion, now))
        return Rejected{Code::unknown_lease};
    if (record.leases.empty()) record.leases.push_back(lease_of(reassertion, now));
    Lease& lease = record.leases.front();
    if (!lease.renewable) return Rejected{Code::renewal_barred};
    record.last_token = reassertion.token;
    lease.expires_at = std::max(lease.expires_at, now + reassertion.ttl);
    return Renewed{lease, std::nullopt};
}

}  // namespace holdfast::core
