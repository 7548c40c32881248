// What one operation costs at 1 k, 100 k and 1 M leases, through the authority and the embedded store. The cost may
// grow with the number of leases by cache misses, not by algorithm. `make bench-micro` runs it.

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "authority/authority.h"
#include "base/random.h"
#include "store/memory/memory_store.h"

namespace holdfast {
namespace {

class NoDisk final : public store::Durable {
    void reserve_tokens(lease::Token, Callback<Result<void>> done) override { done({}); }
    void submit(store::Change, std::optional<store::AuditEntry>, Callback<Result<void>> done) override { done({}); }
};

/// So many leases with names of 40 bytes and holders of 24, taken out in random order.
class Crowd {
 public:
    explicit Crowd(std::size_t leases) : random_(leases) {
        authority_.use(store_);
        pass(1s);
        fill(leases);
    }

    void fill(std::size_t leases) {
        names_.resize(leases);
        for (std::size_t i = 0; i < leases; ++i)
            take(i);
    }

    static lease::Intent intent(std::size_t i) {
        std::string name = std::to_string(i);
        return {"FILE:/src/some/deep/folder/" + std::string(13 - name.size(), '0') + name, lease::Predicate::mutates};
    }
    static std::string holder(std::size_t i) {
        std::string name = std::to_string(i);
        return "agent-" + std::string(18 - name.size(), '0') + name;
    }

    void take(std::size_t i) {
        authority::AcquireRequest request;
        request.holder = holder(i);
        request.intents.push_back(intent(i));
        authority_.acquire(std::move(request), [&](authority::AcquireAnswer answer) {
            const auto& lease = std::get<authority::AcquireGranted>(answer).leases[0];
            names_[i] = {lease.resource, lease.lease.token};
        });
    }
    void renew(std::size_t i) {
        authority::RenewRequest request;
        request.holder = holder(i);
        request.leases.push_back({.name = names_[i], .progress = {}});
        authority_.renew(std::move(request), [](const std::vector<authority::RenewAnswer>& answers) {
            if (!std::holds_alternative<authority::RenewedLease>(answers[0].result)) std::abort();
        });
    }
    void release(std::size_t i) {
        authority_.release({{}, names_[i], holder(i), {}},
                           [](const authority::Answer<authority::ReleaseAnswer>& answer) {
                               if (!std::get<authority::ReleaseAnswer>(answer).released) std::abort();
                           });
    }
    void pass(Duration duration) {
        now_ += duration;
        while (store_.advance(now_)) {
        }
        authority_.advance(now_);
    }

    std::size_t any() { return random_.below(names_.size()); }
    std::size_t size() const { return names_.size(); }
    std::size_t active() const { return store_.active_leases(); }

 private:
    Random random_;
    NoDisk durable_;
    authority::Authority authority_{{.durable = durable_, .policy = {}}};
    store::memory::MemoryStore store_{authority_.listener(), {1, 2}};
    Instant now_;
    std::vector<lease::LeaseName> names_;
};

Crowd& crowd_of(std::int64_t leases) {
    static std::unique_ptr<Crowd> crowd;
    if (!crowd || crowd->size() != static_cast<std::size_t>(leases)) {
        crowd.reset();
        crowd = std::make_unique<Crowd>(static_cast<std::size_t>(leases));
    }
    return *crowd;
}

/// Shows the time per lease beside the time for all of them.
void count_per_lease(benchmark::State& state) {
    const auto leases = static_cast<double>(state.iterations()) * static_cast<double>(state.range(0));
    state.counters["per_lease"] = benchmark::Counter(leases, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void renew(benchmark::State& state) {
    Crowd& crowd = crowd_of(state.range(0));
    for (auto _ : state)
        crowd.renew(crowd.any());
}

void acquire(benchmark::State& state) {
    for (auto _ : state) {
        state.PauseTiming();
        auto crowd = std::make_unique<Crowd>(0);
        state.ResumeTiming();
        crowd->fill(static_cast<std::size_t>(state.range(0)));
        state.PauseTiming();
        crowd.reset();
        state.ResumeTiming();
    }
    count_per_lease(state);
}

void release(benchmark::State& state) {
    for (auto _ : state) {
        state.PauseTiming();
        auto crowd = std::make_unique<Crowd>(static_cast<std::size_t>(state.range(0)));
        state.ResumeTiming();
        for (std::size_t i = 0; i < crowd->size(); ++i)
            crowd->release(i);
        state.PauseTiming();
        crowd.reset();
        state.ResumeTiming();
    }
    count_per_lease(state);
}

/// A lock that changes hands, again and again.
void release_and_acquire(benchmark::State& state) {
    Crowd& crowd = crowd_of(state.range(0));
    for (auto _ : state) {
        const std::size_t i = crowd.any();
        crowd.release(i);
        crowd.take(i);
    }
}

void expire(benchmark::State& state) {
    for (auto _ : state) {
        state.PauseTiming();
        auto crowd = std::make_unique<Crowd>(static_cast<std::size_t>(state.range(0)));
        state.ResumeTiming();
        crowd->pass(61s);
        state.PauseTiming();
        if (crowd->active() != 0) std::abort();
        crowd.reset();
        state.ResumeTiming();
    }
    count_per_lease(state);
}

BENCHMARK(acquire)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(renew)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(release)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(release_and_acquire)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(expire)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace holdfast
