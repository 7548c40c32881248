#include "discovery/directory/stand_bys.h"

#include "discovery/directory/service_limits.h"

namespace holdfast::discovery::directory {
namespace {

/// The name is taken. A policy change frees it only once its lease has ended.
bool waits_for_name(Code code) {
    return code == Code::name_taken || code == Code::superseded;
}

bool waits_for_policy(Code code) {
    switch (code) {
        case Code::banned:
        case Code::awaiting_approval:
        case Code::name_refused:
        case Code::name_denied:
        case Code::ttl_too_short:
        case Code::ttl_too_long:
        case Code::too_many_services:
            return true;
        default:
            return false;
    }
}

}  // namespace

void StandBys::refused(Refusal refusal) {
    if (!waits_for_name(refusal.code) && !waits_for_policy(refusal.code))
        return settled(refusal.connection, refusal.name);
    const auto known = by_connection_.find(refusal.connection);
    const std::size_t of_connection = known == by_connection_.end() ? 0 : known->second.size();
    const bool is_new = of_connection == 0 || !known->second.contains(refusal.name);
    if (is_new && (of_connection >= limits::services_per_connection || size_ >= limits::services)) return;
    if (!is_new) forget(refusal.connection, std::string(refusal.name));
    ++size_;
    if (refusal.code == Code::too_many_services) crowded_.insert({refusal.identity, refusal.name, refusal.connection});
    by_name_[refusal.name].insert(refusal.connection);
    Names& names = by_connection_[refusal.connection];
    std::string name = refusal.name;
    names.insert_or_assign(std::move(name), std::move(refusal));
}

void StandBys::forget(std::uint64_t connection, const std::string& name) {
    const auto names = by_connection_.find(connection);
    crowded_.erase({names->second.at(name).identity, name, connection});
    names->second.erase(name);
    if (names->second.empty()) by_connection_.erase(names);
    const auto connections = by_name_.find(name);
    connections->second.erase(connection);
    if (connections->second.empty()) by_name_.erase(connections);
    --size_;
}

void StandBys::settled(std::uint64_t connection, std::string_view name) {
    const auto names = by_connection_.find(connection);
    if (names != by_connection_.end() && names->second.contains(name)) forget(connection, std::string(name));
}

void StandBys::closed(std::uint64_t connection) {
    const auto names = by_connection_.find(connection);
    if (names == by_connection_.end()) return;
    const Names left = names->second;
    for (const auto& [name, refusal] : left)
        forget(connection, name);
}

void StandBys::freed(std::string_view name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return;
    const std::string freed_name = found->first;
    const std::set<std::uint64_t> connections = found->second;
    for (const std::uint64_t connection : connections) {
        if (!waits_for_name(by_connection_.at(connection).at(freed_name).code)) continue;
        ready_.push_back({connection, freed_name});
        forget(connection, freed_name);
    }
}

void StandBys::gained_room(std::string_view identity, bool for_anyone) {
    auto next = crowded_.lower_bound({std::string(identity), {}, 0});
    const bool found = next != crowded_.end() && next->identity == identity;
    if (!found) next = for_anyone ? crowded_.begin() : crowded_.end();
    if (next == crowded_.end()) return;
    const Crowded one = *next;
    ready_.push_back({one.connection, one.name});
    forget(one.connection, one.name);
}

void StandBys::policy_changed(const std::function<bool(const Refusal&)>& may) {
    const std::size_t before = ready_.size();
    for (const auto& [connection, names] : by_connection_)
        for (const auto& [name, refusal] : names)
            if (waits_for_policy(refusal.code) && may(refusal)) ready_.push_back({connection, name});
    for (std::size_t i = before; i < ready_.size(); ++i)
        forget(ready_[i].connection, ready_[i].name);
}

}  // namespace holdfast::discovery::directory
