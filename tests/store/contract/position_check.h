#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "store/cas/engine.h"

namespace holdfast::store::contract {

/// An engine's position rises with what is written, is the same for swaps and looks, and a swap that requires a higher
/// one is refused, writes nothing and shows nothing (docs/decisions/0013-engines-that-forget.md). `swap` and `fetch`
/// wait for the answer. REQUIRES: nobody else writes.
struct PositionCheck {
    std::function<Result<cas::Swapped>(const cas::Swap&)> swap;
    std::function<Result<cas::Reading>(std::string_view name)> fetch;
};
inline void check_that_swaps_ask_for_the_position(const PositionCheck& engine) {
    const auto write = [&](cas::WriteId expected, cas::WriteId becomes, cas::Position position,
                           std::string_view bytes = "bytes") {
        cas::Swap one;
        one.name = "p";
        one.expected = expected;
        one.becomes = becomes;
        one.position = position;
        one.bytes = bytes;
        return engine.swap(one);
    };
    cas::Position last = 0;
    for (std::uint64_t count = 1; count <= 5; ++count) {
        const auto swapped = write(count - 1, count, last);
        ASSERT_TRUE(swapped) << swapped.error().message;
        ASSERT_TRUE(swapped->done);
        EXPECT_GT(swapped->position, last) << "each write raises it";
        last = swapped->position;
        const auto reading = engine.fetch("p");
        ASSERT_TRUE(reading) << reading.error().message;
        EXPECT_GE(reading->position, last);
    }
    const auto refused = write(99, 100, last);
    ASSERT_TRUE(refused) << refused.error().message;
    EXPECT_FALSE(refused->done);
    EXPECT_EQ(refused->found.write, 5U);
    EXPECT_GE(refused->position, last);
    constexpr cas::Position far = cas::Position{1} << 40;
    const auto elsewhere = engine.fetch("somewhere else");
    ASSERT_TRUE(elsewhere) << elsewhere.error().message;
    EXPECT_GE(elsewhere->position, last);
    for (const cas::Position ahead : {elsewhere->position + far, cas::Position{1} << 60})
        for (const std::string_view bytes : {"bytes", ""})
            for (const std::uint64_t expected : {5U, 99U}) {
                const auto lost = write(expected, 200, ahead, bytes);
                ASSERT_FALSE(lost) << "it requires " << ahead;
                EXPECT_EQ(lost.error().code, Code::store_lost) << lost.error().message;
                EXPECT_FALSE(lost.error().message.empty());
            }
    const auto reading = engine.fetch("p");
    ASSERT_TRUE(reading) << reading.error().message;
    EXPECT_EQ(reading->value.write, 5U) << "nothing was written";
    const auto again = write(5, 6, last);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(again->done);
    EXPECT_GT(again->position, last);
}

}  // namespace holdfast::store::contract
