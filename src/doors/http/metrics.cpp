#include "doors/http/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <vector>

namespace holdfast::doors::http {
namespace {

constexpr std::size_t outcomes = answer_code_count + 1;  // the codes, and `ok`

const prometheus::Histogram::BucketBoundaries& lateness_buckets() {
    static const prometheus::Histogram::BucketBoundaries bounds{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
                                                                0.05,   0.1,   0.2,   0.5,   1,    5};
    return bounds;
}

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, lateness_buckets());
}

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace

struct Metrics::Impl {
    explicit Impl(prometheus::Registry& given)
        : registry(given),
          requests(prometheus::BuildCounter()
                       .Name("holdfast_requests_total")
                       .Help("Requests answered, by what was asked and what came of it")
                       .Register(given)),
          active_leases(gauge(given, "holdfast_active_leases", "Leases that are active")),
          waiters(gauge(given, "holdfast_waiters", "Requests that wait for their turn")),
          drones(gauge(given, "holdfast_drones", "Drones that are registered")),
          backends(prometheus::BuildGauge()
                       .Name("holdfast_backends")
                       .Help("Backends that are known, by state")
                       .Register(given)),
          services(gauge(given, "holdfast_services_connected", "Services whose publisher is connected to this relay")),
          awaiting(gauge(given, "holdfast_identities_awaiting_approval", "Publishers that were not approved yet")),
          service_updates(prometheus::BuildCounter()
                              .Name("holdfast_service_updates_total")
                              .Help("Signed updates of services, by what came of them")
                              .Register(given)),
          connections(gauge(given, "holdfast_connections", "Open HTTP connections")),
          expiry_lateness(histogram(given, "holdfast_expiry_lateness_seconds",
                                    "How long after its end the expiry of a lease was told")),
          loop_delay(histogram(given, "holdfast_loop_delay_seconds", "How late a timer of the server's loop fired")),
          counters((routes().size() + 1) * outcomes, nullptr) {}

    prometheus::Registry& registry;
    prometheus::Family<prometheus::Counter>& requests;
    prometheus::Gauge& active_leases;
    prometheus::Gauge& waiters;
    prometheus::Gauge& drones;
    prometheus::Family<prometheus::Gauge>& backends;
    prometheus::Gauge& services;
    prometheus::Gauge& awaiting;
    prometheus::Family<prometheus::Counter>& service_updates;
    prometheus::Gauge& connections;
    prometheus::Histogram& expiry_lateness;
    prometheus::Histogram& loop_delay;
    std::vector<prometheus::Counter*> counters;  // created when first needed, so that the output has no unused lines
};

Metrics::Metrics(prometheus::Registry& registry) : impl_(std::make_unique<Impl>(registry)) {}
Metrics::~Metrics() = default;

void Metrics::count(const Route* route, std::optional<Code> outcome) {
    const std::size_t verb = route == nullptr ? routes().size() : static_cast<std::size_t>(route - routes().data());
    const std::size_t column = outcome ? static_cast<std::size_t>(*outcome) : answer_code_count;
    prometheus::Counter*& counter = impl_->counters[verb * outcomes + column];
    if (counter == nullptr) {
        const std::string_view verb_name = route == nullptr ? "none" : route->operation;
        const std::string_view outcome_name = outcome ? name_of(*outcome) : "ok";
        counter = &impl_->requests.Add({{"verb", std::string(verb_name)}, {"outcome", std::string(outcome_name)}});
    }
    counter->Increment();
}

void Metrics::set_connections(std::size_t connections) {
    impl_->connections.Set(static_cast<double>(connections));
}

void Metrics::set_leases(std::size_t active, std::size_t waiters) {
    impl_->active_leases.Set(static_cast<double>(active));
    impl_->waiters.Set(static_cast<double>(waiters));
}

void Metrics::set_keys(const keys::controller::Controller::Counts& counts) {
    impl_->drones.Set(static_cast<double>(counts.drones));
    for (std::size_t i = 0; i < counts.backends.size(); ++i) {
        const std::string_view state = to_string(static_cast<keys::BackendState>(i));
        impl_->backends.Add({{"state", std::string(state)}}).Set(static_cast<double>(counts.backends[i]));
    }
}

void Metrics::set_services(const discovery::directory::Directory::Counts& counts) {
    impl_->services.Set(static_cast<double>(counts.connected));
    impl_->awaiting.Set(static_cast<double>(counts.awaiting));
    const auto raise = [&](const char* outcome, std::uint64_t to) {
        prometheus::Counter& counter = impl_->service_updates.Add({{"outcome", outcome}});
        counter.Increment(static_cast<double>(to) - counter.Value());
    };
    raise("ok", counts.updates - counts.refused);
    raise("refused", counts.refused);
}

void Metrics::set(const MetricNumbers& numbers) {
    for (const MetricNumber& one : numbers) {
        if (!one.counts_up) {
            prometheus::BuildGauge()
                .Name(one.name)
                .Help(one.help)
                .Register(impl_->registry)
                .Add(one.labels)
                .Set(one.value);
            continue;
        }
        prometheus::Counter& counter =
            prometheus::BuildCounter().Name(one.name).Help(one.help).Register(impl_->registry).Add(one.labels);
        counter.Increment(one.value - counter.Value());
    }
}

void Metrics::observe_expiry_lateness(Duration late) {
    impl_->expiry_lateness.Observe(seconds(late));
}

void Metrics::observe_loop_delay(Duration delay) {
    impl_->loop_delay.Observe(seconds(delay));
}

std::string Metrics::text() const {
    return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace holdfast::doors::http
