// What a lease and a waiter cost in memory, measured in a process of its own.

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include "authority/authority.h"
#include "store/memory/memory_store.h"

namespace holdfast::authority {
namespace {

constexpr std::size_t million = 1'000'000;
constexpr double max_bytes_per_lease = 150;
constexpr double max_bytes_per_waiter = 1024;

class PromptDurable final : public store::Durable {
 public:
    void reserve_tokens(lease::Token, Callback<Result<void>> done) override { done({}); }
    void submit(store::Change, std::optional<store::AuditEntry>, Callback<Result<void>> done) override { done({}); }
};

std::size_t resident_bytes() {
    std::size_t total = 0;
    std::size_t resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// A name of exactly so many bytes.
std::string name(const char* prefix, std::size_t number, std::size_t bytes) {
    std::string text = prefix + std::to_string(number);
    text.resize(bytes, '.');
    return text;
}

class Filling {
 public:
    Filling() : authority_({.durable = durable_, .policy = {}}), store_(authority_.listener(), {1, 2}) {
        authority_.use(store_);
        advance();
    }

    bool acquire(std::size_t number) {
        AcquireRequest request;
        request.holder = name("holder-", number, 24);
        request.intents = {{name("FILE:/src/module/", number, 40), lease::Predicate::mutates}};
        request.ttl = 5min;
        bool granted = false;
        authority_.acquire(std::move(request), [&](const AcquireAnswer& answer) {
            granted = std::holds_alternative<AcquireGranted>(answer);
        });
        if (number % 1000 == 0) advance();
        return granted;
    }

    /// Waits for a resource that somebody has.
    void wait(std::size_t number, std::size_t resource) {
        AcquireRequest request;
        request.holder = name("waiter-", number, 24);
        request.intents = {{name("FILE:/src/module/", resource, 40), lease::Predicate::mutates}};
        request.wait = 5min;
        request.session = name("session-", number, 36);
        request.idempotency_key = name("key-", number, 32);
        authority_.acquire(std::move(request), [](const AcquireAnswer&) {});
    }
    std::size_t waiters() const { return authority_.waiters(); }

    /// On the heap, and what the store has in pages of its own.
    std::size_t allocated() const { return mallinfo2().uordblks + store_.memory_bytes(); }

    std::size_t active_leases() const { return store_.active_leases(); }

    void pass(Duration duration) {
        now_ += duration;
        while (store_.advance(now_)) {
        }
        authority_.advance(now_);
    }

 private:
    void advance() {
        now_ += 10ms;
        store_.advance(now_);
        authority_.advance(now_);
    }

    Instant now_{1000s};
    PromptDurable durable_;
    Authority authority_;
    store::memory::MemoryStore store_;
};

TEST(Memory, a_lease_costs_at_most_150_bytes_at_a_million_of_them) {
    Filling filling;
    for (std::size_t i = 0; i < 20'000; ++i)
        ASSERT_TRUE(filling.acquire(i));  // fills the buffer of events, too
    const std::size_t before = resident_bytes();
    for (std::size_t i = 20'000; i < million + 20'000; ++i)
        ASSERT_TRUE(filling.acquire(i));
    const std::size_t after = resident_bytes();
    ASSERT_EQ(filling.active_leases(), million + 20'000);
    const double each = static_cast<double>(after - before) / million;
    std::printf("%zu leases: %.1f bytes of resident memory each\n", million, each);
    EXPECT_GT(each, 64) << "less than the names alone: this measured nothing";
    EXPECT_LE(each, max_bytes_per_lease);
}

TEST(Memory, of_a_flood_of_small_leases_goes_back_to_the_system) {
    constexpr std::size_t count = 300'000;
    Filling filling;
    for (std::size_t i = 0; i < 20'000; ++i)
        ASSERT_TRUE(filling.acquire(i));  // fills the buffer of events, too
    malloc_trim(0);
    const std::size_t before = resident_bytes();
    for (std::size_t i = 20'000; i < count; ++i)
        ASSERT_TRUE(filling.acquire(i));
    const std::size_t during = resident_bytes();
    filling.pass(5min);  // they expire
    filling.pass(5min);  // they are forgotten (R3)
    ASSERT_EQ(filling.active_leases(), 0U);
    malloc_trim(0);  // as the server does (server/memory_watch.h)
    const std::size_t after = resident_bytes();
    std::printf("%zu leases: %zu MiB before, %zu during, %zu after\n", count, before >> 20, during >> 20, after >> 20);
    EXPECT_GT(during, before * 2) << "so few are no flood";
    EXPECT_LE(after, before + before / 2);
}

TEST(Memory, a_waiter_costs_at_most_1024_bytes_however_long_its_queue_is) {
    constexpr std::size_t count = 3060;
    for (const std::size_t queue : {1, 5, 6, 9, 17, 1020}) {
        Filling filling;
        for (std::size_t i = 0; i < count / queue; ++i)
            ASSERT_TRUE(filling.acquire(i));
        const std::size_t before = filling.allocated();
        for (std::size_t i = 0; i < count; ++i)
            filling.wait(i, i / queue);
        ASSERT_EQ(filling.waiters(), count);
        const double each = static_cast<double>(filling.allocated() - before) / count;
        std::printf("%zu waiters in queues of %zu: %.1f bytes each\n", count, queue, each);
        EXPECT_LE(each, max_bytes_per_waiter);
    }
}

}  // namespace
}  // namespace holdfast::authority
