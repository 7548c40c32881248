#include "doors/resp/scoped_leases.h"

#include <memory>
#include <vector>

namespace holdfast::doors::resp {

bool ScopedLeases::has_room() {
    if (leases_.size() >= most) drop_ended();
    return leases_.size() < most;
}

void ScopedLeases::add(lease::LeaseName name, std::string holder) {
    leases_.insert_or_assign(name.token, Scoped{std::move(name.resource), std::move(holder)});
}

void ScopedLeases::forget_if_of(lease::Token token, std::string_view holder) {
    if (leases_.empty()) return;
    const auto found = leases_.find(token);
    if (found != leases_.end() && found->second.holder == holder) leases_.erase(found);
}

/// Needed because this class is not notified of leases that expired or were ended by others.
void ScopedLeases::drop_ended() {
    const auto ended = std::make_shared<std::vector<lease::Token>>();
    for (const auto& [token, scoped] : leases_)
        authority_.single_record().update(
            {.resource = scoped.resource, .holder = {}, .extra = {}, .takes = false},
            [token = token](authority::RecordTransaction& desk) {
                desk.answer().number = desk.record().find(token) != nullptr ? 1 : 0;
            },
            [ended, token = token](const authority::SingleRecordAnswer& answer) {
                if (!answer.refused && answer.number == 0) ended->push_back(token);
            });
    for (const lease::Token token : *ended)
        leases_.erase(token);
}

void ScopedLeases::release_all() {
    const auto leases = std::move(leases_);
    leases_.clear();
    for (const auto& [token, scoped] : leases)
        authority_.single_record().update(
            {.resource = scoped.resource, .holder = scoped.holder, .by_connection = true},
            [token = token](authority::RecordTransaction& desk) { desk.release(token); },
            [](const authority::SingleRecordAnswer&) {});
}

}  // namespace holdfast::doors::resp
