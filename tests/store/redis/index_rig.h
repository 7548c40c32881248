#pragma once

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "store/redis/engine_rig.h"
#include "store/redis/plain_redis.h"
#include "support/redis_process.h"

namespace holdfast::store::redis {

/// A front on a Redis of its own, whose indices are looked at.
class RedisIndexTest : public testing::Test {
 protected:
    using Names = std::vector<std::string>;

    void SetUp() override { ASSERT_TRUE(rig.up()) << rig.why.message; }

    /// When something is to be done about a record, by the set of what is due; 0 if it is not in there.
    long due(const std::string& name) {
        const auto score = plain({"ZSCORE", due_set, name});
        return score.is_text() ? std::stol(score.text) : 0;
    }
    /// As if their time had come.
    void make_all_due() {
        for (const auto& entry : plain({"ZRANGE", due_set, "0", "-1"}).items)
            plain({"ZADD", due_set, "1", entry.text});
    }
    static long micros(EngineTime time) { return time.time_since_epoch() / 1us; }
    /// All sets, and what is in them.
    std::map<std::string, Names> sets() {
        std::map<std::string, Names> out;
        for (const auto& key : plain({"KEYS", "holdfast:[hfd]*"}).items)
            if (plain({"TYPE", key.text}).text == "zset")
                for (const auto& entry : plain({"ZRANGE", key.text, "0", "-1"}).items)
                    out[key.text].push_back(entry.text);
        for (auto& [key, names] : out)
            std::ranges::sort(names);
        return out;
    }
    long calls_of(const std::string& command) {
        const std::string stats = plain({"INFO", "commandstats"}).text;
        const std::string line = "cmdstat_" + command + ":calls=";
        const auto at = stats.find(line);
        return at == std::string::npos ? 0L : std::stol(stats.substr(at + line.size()));
    }

    static constexpr const char* due_set = "holdfast:due";

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
