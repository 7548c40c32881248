#include "store/contract/store_under_test.h"

#include <algorithm>

namespace holdfast::store::contract {
namespace {

std::string name_of(std::string_view resource, const lease::Lease& lease) {
    return to_string(lease::LeaseName{std::string(resource), lease.token});
}

}  // namespace

void Told::on_expired(std::string_view resource, const lease::Lease& lease, Duration) {
    expired.push_back(name_of(resource, lease));
}

void Told::on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) {
    for (const std::uint64_t id : waiters)
        due.push_back(std::string(resource) + ' ' + std::to_string(id));
}

void Told::on_changed(std::string_view resource, const lease::Lease& lease, LeaseChange change) {
    std::vector<std::string>* const lines[] = {&granted, &renewed, &released, &revoked};
    const std::string name = name_of(resource, lease);
    lines[static_cast<std::size_t>(change)]->push_back(name);
    last[name] = lease;
}

bool Told::has(const std::vector<std::string>& lines, const std::string& line) {
    return count(lines, line) > 0;
}

std::size_t Told::count(const std::vector<std::string>& lines, const std::string& line) {
    return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), line));
}

}  // namespace holdfast::store::contract
