#pragma once

#include <memory>

#include "discovery/relay/relay_door.h"

namespace holdfast::discovery::relay {

/// The relay's part of GET /metrics, updated periodically: totals, and the traffic of up to max_services services that
/// have streams or had some in the last minute.
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

}  // namespace holdfast::discovery::relay
