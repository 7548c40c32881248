#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "store/cas/engine.h"

namespace holdfast::store::contract {

/// An engine carries out a swap only where the marker is what was seen, or further on, and shows nothing otherwise
/// (docs/decisions/0013-engines-that-forget.md). `swap` waits for the answer.
inline void check_that_swaps_ask_for_the_marker(const std::function<Result<cas::Swapped>(const cas::Swap&)>& swap) {
    std::uint64_t writes = 1000;
    const auto write = [&](std::string_view name, cas::WriteId expected, cas::WriteId becomes, cas::WriteId marker,
                           std::string_view bytes = "bytes") {
        cas::Swap one;
        one.name = name;
        one.expected = expected;
        one.becomes = becomes;
        one.marker = marker;
        one.bytes = bytes;
        return swap(one);
    };
    const auto is_done = [&](cas::WriteId expected, cas::WriteId becomes, cas::WriteId marker) {
        const auto swapped = write("r", expected, becomes, marker);
        EXPECT_TRUE(swapped) << swapped.error().message;
        return swapped && swapped->done;
    };
    const auto is_lost = [&](std::string_view name, cas::WriteId expected, cas::WriteId marker) {
        for (const std::string_view bytes : {"bytes", ""}) {
            const auto swapped = write(name, expected, ++writes, marker, bytes);
            if (swapped || swapped.error().code != Code::store_lost) return false;
        }
        return true;
    };
    constexpr std::uint64_t incarnation = 0xabcdef0123456789, high = 0x9a00000001;
    const cas::WriteId first{incarnation, 7}, second{incarnation, high};
    EXPECT_TRUE(is_lost("r", 0, first)) << "there is none";
    ASSERT_TRUE(is_done(0, 1, {})) << "none is asked for";
    EXPECT_TRUE(is_lost("r", 1, first));
    ASSERT_TRUE(write(cas::marker_name, 0, first, {}));
    EXPECT_TRUE(is_done(1, 2, first));
    EXPECT_TRUE(is_done(2, 3, {incarnation, 6})) << "it is further on";
    EXPECT_TRUE(is_lost("r", 3, {incarnation, 8})) << "it went back";
    EXPECT_TRUE(is_lost("r", 3, {incarnation + 1, 1})) << "it is another";
    EXPECT_TRUE(is_lost("r", 3, {incarnation - 1, 1}));
    EXPECT_TRUE(is_lost("r", 99, {incarnation, 8})) << "what is there instead is not shown either";
    ASSERT_TRUE(write(cas::marker_name, first, second, {}));
    EXPECT_TRUE(is_done(3, 4, second));
    EXPECT_TRUE(is_done(4, 5, first));
    EXPECT_TRUE(is_lost("r", 5, {incarnation, high + 1}));
    EXPECT_TRUE(is_lost("r", 5, {incarnation, high + (1ULL << 40)}));
    ASSERT_TRUE(write(cas::marker_name, second, ++writes, {}, ""));
    EXPECT_TRUE(is_lost("r", 5, first)) << "somebody deleted it";
    EXPECT_TRUE(is_done(5, 6, {}));
}

}  // namespace holdfast::store::contract
