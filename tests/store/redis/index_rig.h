#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "store/redis/engine_rig.h"
#include "store/redis/plain_redis.h"
#include "store/redis/stored.h"
#include "support/redis_process.h"

namespace holdfast::store::redis {

/// A front on a Redis of its own, whose indices are looked at.
class RedisIndexTest : public testing::Test {
 protected:
    using Names = std::vector<std::string>;

    void SetUp() override { ASSERT_TRUE(rig.up()) << rig.why.message; }

    /// The scores of a record in the sets of what is due, of all fronts.
    std::vector<long> dues(const std::string& name) {
        std::vector<long> out;
        for (int i = 0; i < 16; ++i) {
            const auto entries = plain({"ZRANGE", due_set(i), "0", "-1", "WITHSCORES"}).items;
            for (std::size_t at = 0; at + 1 < entries.size(); at += 2)
                if (entries[at].text.substr(front_bytes) == name) out.push_back(std::stol(entries[at + 1].text));
        }
        return out;
    }
    /// As if their time had come.
    void make_all_due() {
        for (int i = 0; i < 16; ++i)
            for (const auto& entry : plain({"ZRANGE", due_set(i), "0", "-1"}).items)
                plain({"ZADD", due_set(i), "1", entry.text});
    }
    static std::string micros(EngineTime time) { return std::to_string(time.time_since_epoch() / 1us); }
    static std::string due_set(int number) { return "holdfast:due:" + std::to_string(number); }
    long calls_of(const std::string& command) {
        const std::string stats = plain({"INFO", "commandstats"}).text;
        const std::string line = "cmdstat_" + command + ":calls=";
        const auto at = stats.find(line);
        return at == std::string::npos ? 0L : std::stol(stats.substr(at + line.size()));
    }

    static constexpr std::size_t front_bytes = Keys::front_bytes;

    void put(const std::string& name, WriteId write, const Names& holders = {}) {
        const auto swapped =
            rig.swap({.name = name, .becomes = write, .holders = holders, .keep_until = rig.now() + 1h});
        ASSERT_TRUE(swapped && swapped->done) << name;
    }

    RedisProcess redis;
    EngineRig rig{redis.url()};
    PlainRedis plain{redis.port()};
};

}  // namespace holdfast::store::redis
