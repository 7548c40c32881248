#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/code.h"
#include "base/time.h"
#include "doors/http/readiness.h"
#include "doors/http/routes.h"

namespace prometheus {
class Registry;
}

namespace holdfast::doors::http {

/// The metrics of GET /metrics. Counters are looked up by index, not by label.
class Metrics {
 public:
    explicit Metrics(prometheus::Registry& registry);
    ~Metrics();

    /// Counts an answered request. `route` is null if no route matched or the request was malformed.
    void count(const Route* route, std::optional<Code> outcome);
    void set_connections(std::size_t connections);
    void set_leases(std::size_t active, std::size_t waiters);
    void set_keys(const keys::controller::Controller::Counts& counts);
    void set_services(const discovery::directory::Directory::Counts& counts);
    void set(const MetricNumbers& numbers);
    void observe_expiry_lateness(Duration late);
    void observe_loop_delay(Duration delay);

    /// Everything in the registry, in Prometheus' text format.
    std::string text() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::doors::http
