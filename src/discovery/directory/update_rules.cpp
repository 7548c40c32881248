#include "discovery/directory/update_rules.h"

#include <algorithm>

#include "discovery/directory/service_limits.h"

namespace holdfast::discovery::directory {
namespace {

void refuse(authority::RecordTransaction& desk, Code code, Duration retry_in) {
    desk.answer().refused = code;
    desk.answer().retry_in = retry_in;
}

/// D3: "not allowed" is a different answer than "not found".
void refuse_for(authority::RecordTransaction& desk, const lease::Lease& in_the_way) {
    const bool own = in_the_way.holder == desk.holder();
    const Duration left = in_the_way.expires_at - desk.now();
    refuse(desk, own ? Code::superseded : Code::name_taken, std::min(limits::stand_by, std::max<Duration>(left, 1s)));
}

}  // namespace

void enter_service(authority::RecordTransaction& desk, const EnterTerms& terms) {
    // Checked first: only identities that may have the name learn whether it is taken.
    if (const auto barred = lease::bar_to(desk.policy(), desk.holder(), desk.resource()))
        return refuse(desk, *barred, limits::stand_by);
    Advert advert = terms.advert;
    for (const lease::Lease& lease : desk.record().leases) {
        const bool own = lease.holder == desk.holder();
        const bool chased = own && terms.returning && *terms.returning != lease.token;
        if (!own || chased) return refuse_for(desk, lease);
        if (const auto first = advert_of(lease).first_seen_ms; first > 0) advert.first_seen_ms = first;
    }
    desk.replace(lease::Predicate::mutates, terms.ttl, to_json(advert));
}

void renew_service(authority::RecordTransaction& desk, const RenewTerms& terms) {
    const lease::Lease* lease = desk.record().find(terms.token);
    const auto& leases = desk.record().leases;
    if (lease == nullptr && !leases.empty()) return refuse_for(desk, leases.front());
    if (lease != nullptr && lease->holder != desk.holder()) return refuse_for(desk, *lease);
    if (lease != nullptr && terms.unreachable) {
        desk.answer().refused = Code::unknown_lease;
        return;
    }
    if (desk.renew(terms.token, terms.ttl)) desk.answer().retry_in = limits::stand_by;
}

void leave_service(authority::RecordTransaction& desk, lease::Token token) {
    const lease::Lease* lease = desk.record().find(token);
    if (lease == nullptr) return;
    if (lease->holder != desk.holder()) return refuse_for(desk, *lease);
    desk.release(token);
}

}  // namespace holdfast::discovery::directory
