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

namespace holdfast::core {

/// First answers, kept for those who ask again because they did not hear (G7).
class Idempotency {
 public:
    static constexpr std::size_t most = 100'000;
    static constexpr std::size_t max_bytes = 64 << 20;  ///< of text in the answers; beyond either, the oldest go early
    static constexpr Duration kept = 5min;

    /// What the names of requests are hashed with, which nobody must be able to guess.
    explicit Idempotency(Random random);

    struct First {};  ///< not seen before: the request goes ahead
    using Seen = std::variant<First, AcquireAnswer>;

    /// What to do with a request that carries a key. Every First must be followed by a finish(). A grant comes as it
    /// was then: what it is worth now is for the caller to find out.
    Seen look_up(const AcquireRequest& request, Instant now);

    /// Remembers the answer. Refusals are not kept: they say that it is worth asking again.
    void finish(const AcquireRequest& request, const AcquireAnswer& answer, Instant now);

 private:
    /// Of a holder and its key, in 128 bits: there may be a hundred thousand that wait.
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
    std::deque<Age> ages_;  // of the answered, oldest first
    std::size_t bytes_ = 0;
};

}  // namespace holdfast::core
