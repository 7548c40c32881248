#pragma once

#include <memory>

#include "discovery/relay/relay_door.h"

namespace holdfast::relay {

/// What GET /metrics tells of the relay, told from time to time: sums, and of up to max_services services that have
/// streams, or had some a minute ago, what they carry each.
class RelayMetrics {
 public:
    static constexpr std::size_t max_services = 100;

    explicit RelayMetrics(prometheus::Registry& registry);
    ~RelayMetrics();

    void tell(const RelayDoor::Counts& counts, const StreamTable& book);

 private:
    void tell_services(const StreamTable& book);

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::relay
