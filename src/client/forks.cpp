#include "client/forks.h"

#include <atomic>
#include <pthread.h>

namespace holdfast {

namespace {

/// A fact about the process, and so the one variable here that belongs to no object.
std::atomic<std::uint32_t> count = 0;

void count_one() {
    count.fetch_add(1, std::memory_order_relaxed);
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, count_one);

}  // namespace

std::uint32_t forks() noexcept {
    return count.load(std::memory_order_relaxed);
}

}  // namespace holdfast
