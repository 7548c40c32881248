#include "discovery/relay/relay_metrics.h"

#include <map>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace holdfast::discovery::relay {
namespace {

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Family<prometheus::Counter>& counters(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

void raise_to(prometheus::Counter& counter, std::uint64_t value) {
    counter.Increment(static_cast<double>(value) - counter.Value());
}

}  // namespace

struct RelayMetrics::Impl {
    explicit Impl(prometheus::Registry& given)
        : publishers(gauge(given, "holdfast_relay_publishers", "Publishers that are connected to the relay")),
          streams(gauge(given, "holdfast_relay_streams", "Streams that are open")),
          waiting(gauge(given, "holdfast_relay_waiting", "Consumers that wait for a publisher's answer")),
          opened(counters(given, "holdfast_relay_streams_total", "Streams that were opened").Add({})),
          failures(counters(given, "holdfast_relay_failures_total", "Streams that came to nothing, by cause")),
          over_limit(failures.Add({{"cause", "too_many_streams"}})),
          unanswered(failures.Add({{"cause", "no_answer"}})),
          bytes(counters(given, "holdfast_relay_bytes_total", "Bytes of streams, by where they went")),
          to_publisher(bytes.Add({{"to", "publisher"}})),
          to_consumer(bytes.Add({{"to", "consumer"}})),
          service_streams(prometheus::BuildGauge()
                              .Name("holdfast_relay_service_streams")
                              .Help("Streams that are open, by service")
                              .Register(given)),
          service_bytes(counters(given, "holdfast_relay_service_bytes_total",
                                 "Bytes of streams, by service and where they went")) {}

    struct Service {
        prometheus::Gauge* streams;
        prometheus::Counter *to_publisher, *to_consumer;
        bool is_there = true;
    };
    Service add(const std::string& name) {
        return {&service_streams.Add({{"service", name}}), &service_bytes.Add({{"service", name}, {"to", "publisher"}}),
                &service_bytes.Add({{"service", name}, {"to", "consumer"}})};
    }
    void remove(const Service& service) {
        service_streams.Remove(service.streams);
        service_bytes.Remove(service.to_publisher);
        service_bytes.Remove(service.to_consumer);
    }

    prometheus::Gauge &publishers, &streams, &waiting;
    prometheus::Counter& opened;
    prometheus::Family<prometheus::Counter>& failures;
    prometheus::Counter &over_limit, &unanswered;
    prometheus::Family<prometheus::Counter>& bytes;
    prometheus::Counter &to_publisher, &to_consumer;
    prometheus::Family<prometheus::Gauge>& service_streams;
    prometheus::Family<prometheus::Counter>& service_bytes;
    std::map<std::string, Service> services;
};

RelayMetrics::RelayMetrics(prometheus::Registry& registry) : impl_(std::make_unique<Impl>(registry)) {}
RelayMetrics::~RelayMetrics() = default;

void RelayMetrics::tell(const RelayDoor::Counts& counts, const StreamTable& book) {
    impl_->publishers.Set(static_cast<double>(counts.publishers));
    impl_->streams.Set(static_cast<double>(counts.streams.open));
    impl_->waiting.Set(static_cast<double>(counts.streams.waiting));
    raise_to(impl_->opened, counts.streams.total);
    raise_to(impl_->over_limit, counts.streams.refused_by_limit);
    raise_to(impl_->unanswered, counts.streams.unanswered);
    raise_to(impl_->to_publisher, counts.carried.to_publisher);
    raise_to(impl_->to_consumer, counts.carried.to_consumer);
    tell_services(book);
}

void RelayMetrics::tell_services(const StreamTable& book) {
    auto& services = impl_->services;
    for (auto& entry : services)
        entry.second.is_there = false;
    book.for_each_service([&](const std::string& name, const StreamTable::ServiceTraffic& traffic) {
        auto found = services.find(name);
        if (found == services.end()) {
            if (services.size() == max_services) return;
            found = services.emplace(name, impl_->add(name)).first;
        }
        found->second.is_there = true;
        found->second.streams->Set(static_cast<double>(traffic.streams));
        raise_to(*found->second.to_publisher, traffic.carried.to_publisher);
        raise_to(*found->second.to_consumer, traffic.carried.to_consumer);
    });
    std::erase_if(services, [&](const auto& entry) {
        if (!entry.second.is_there) impl_->remove(entry.second);
        return !entry.second.is_there;
    });
}

}  // namespace holdfast::discovery::relay
