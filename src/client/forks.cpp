#include "client/forks.h"

#include <atomic>
#include <pthread.h>

namespace holdfast::client {

namespace {

/// A property of the process, hence the only global variable here.
std::atomic<std::uint32_t> fork_count = 0;

void count_one() {
    fork_count.fetch_add(1, std::memory_order_relaxed);
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, count_one);

}  // namespace

std::uint32_t forks() noexcept {
    return fork_count.load(std::memory_order_relaxed);
}

}  // namespace holdfast::client
