// What it costs a holder to ask itself whether it may go on: the check that belongs in every inner loop.

#include <holdfast/local.h>

#include <benchmark/benchmark.h>

namespace {

void held(benchmark::State& state) {
    static holdfast::Local local;
    static auto acquired = local.client().acquire("bench");
    if (!acquired) {
        state.SkipWithError(acquired.failure().message.c_str());
        return;
    }
    for (auto _ : state)
        benchmark::DoNotOptimize(acquired.lease().held());
}
BENCHMARK(held)->Threads(1)->Threads(2);

}  // namespace
