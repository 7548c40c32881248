#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <variant>

#include "authority/answers.h"
#include "authority/requests.h"
#include "base/hash.h"
#include "base/random.h"

namespace holdfast::authority {

/// Keeps the first answers for clients that retry because they did not receive them (G7).
class Idempotency {
 public:
    static constexpr std::size_t most = 100'000;
    static constexpr std::size_t max_bytes = 64 << 20;  ///< of answers; beyond either limit the oldest are dropped
    static constexpr Duration kept = 5min;

    /// `random` provides the keys for hashing request names. They must not be predictable.
    explicit Idempotency(Random random);

    struct First {};  ///< not seen before: process the request
    using Seen = std::variant<First, AcquireAnswer>;

    /// Looks up a request with a key. Every First must be followed by a finish(). A grant is returned as it was then;
    /// the caller must check its current state.
    Seen look_up(const AcquireRequest& request, Instant now);

    /// Keeps the answer. Refusals are not kept: the request may be retried.
    void finish(const AcquireRequest& request, const AcquireAnswer& answer, Instant now);

 private:
    /// A 128-bit hash of a holder and its key. Compact, since there may be a hundred thousand waiting requests.
    struct Name {
        std::uint64_t first = 0, second = 0;
        auto operator<=>(const Name&) const = default;
    };
    struct Entry {
        std::uint64_t fingerprint = 0;
        std::unique_ptr<const AcquireAnswer> answer;  // none: in progress
    };
    struct Age {
        Instant at;
        Name name;
        std::size_t bytes = 0;
    };

    Name name_of(const AcquireRequest& request) const;
    void forget(Instant now);

    HashKey first_key_, second_key_;
    std::map<Name, Entry> entries_;
    std::deque<Age> ages_;  // answered entries, oldest first
    std::size_t bytes_ = 0;
};

}  // namespace holdfast::authority
