#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <rapidcheck/gtest.h>

#include "redis/keys_desk.h"

namespace holdfast::redis {
namespace {

/// Redis's keys as Redis has them, but for what docs/redis.md says is different: time is only ever added for the same
/// value.
class ModelRedis {
 public:
    struct Entry {
        std::string value;
        Instant until;
    };

    const Entry* find(const std::string& key, Instant now) const {
        const auto found = entries_.find(key);
        return found != entries_.end() && now < found->second.until ? &found->second : nullptr;
    }
    bool set(const std::string& key, const Entry& wanted, SetTerms::When when, Instant now) {
        const Entry* there = find(key, now);
        if (when == SetTerms::When::absent && there != nullptr) return false;
        if (when == SetTerms::When::present && there == nullptr) return false;
        const bool same = there != nullptr && there->value == wanted.value;
        entries_[key] = {wanted.value, same ? std::max(there->until, wanted.until) : wanted.until};
        return true;
    }
    bool remove(const std::string& key, Instant now) {
        const bool there = find(key, now) != nullptr;
        entries_.erase(key);
        return there;
    }
    bool expire(const std::string& key, Duration ttl, Instant now) {
        if (find(key, now) == nullptr) return false;
        if (ttl <= Duration::zero()) return remove(key, now);
        Entry& entry = entries_[key];
        entry.until = std::max(entry.until, now + ttl);
        return true;
    }

 private:
    std::map<std::string, Entry> entries_;
};

struct Step {
    int what;
    int key;
    int value;
    int time_ms;
};

std::vector<Step> steps() {
    return *rc::gen::container<std::vector<Step>>(rc::gen::construct<Step>(
        rc::gen::inRange(0, 9), rc::gen::inRange(0, 2), rc::gen::inRange(0, 3), rc::gen::inRange(-50, 2000)));
}

/// One world on a desk and in the model. Tokens must only ever go up (G3).
class History {
 public:
    void run(const Step& step) {
        const std::string key = "k" + std::to_string(step.key);
        const std::string value = "v" + std::to_string(step.value);
        const Duration time = std::chrono::milliseconds{step.time_ms};
        const Duration ttl = std::max(time, Duration{1ms});
        switch (step.what) {
            case 0:
                return set(key, value, ttl, SetTerms::When::absent);
            case 1:
                return set(key, value, ttl, SetTerms::When::always);
            case 2:
                return set(key, value, ttl, SetTerms::When::present);
            case 3:
                return desk_.pass(ttl);
            case 4:
                RC_ASSERT((desk_.outcome(key, "", &remove_key) == KeyOutcome::done) == model_.remove(key, desk_.now));
                return;
            case 5:
                RC_ASSERT((outcome_of(desk_.expire(key, time)) == KeyOutcome::done) ==
                          model_.expire(key, time, desk_.now));
                return;
            case 6:
                RC_ASSERT((outcome_of(desk_.expire_mine(key, value, time)) == KeyOutcome::done) ==
                          (has(key, value) && model_.expire(key, time, desk_.now)));
                return;
            case 7:
                RC_ASSERT((desk_.outcome(key, value, &remove_if_equal) == KeyOutcome::done) ==
                          (has(key, value) && model_.remove(key, desk_.now)));
                return;
            default:
                break;
        }
        RC_ASSERT((desk_.run(key, "", &type_of_key).number != 0) == (model_.find(key, desk_.now) != nullptr));
    }

    void compare() {
        for (const char* key : {"k0", "k1"}) {
            const ModelRedis::Entry* entry = model_.find(key, desk_.now);
            RC_ASSERT(desk_.get(key) == (entry != nullptr ? std::optional(entry->value) : std::nullopt));
            RC_ASSERT(desk_.pttl(key) == (entry != nullptr ? to_ms(entry->until - desk_.now) : -2));
        }
    }

 private:
    bool has(const std::string& key, const std::string& value) const {
        const ModelRedis::Entry* entry = model_.find(key, desk_.now);
        return entry != nullptr && entry->value == value;
    }

    void set(const std::string& key, const std::string& value, Duration ttl, SetTerms::When when) {
        const auto answer = desk_.set(key, value, ttl, when);
        RC_ASSERT(!answer.refused);
        const bool done = outcome_of(answer) == KeyOutcome::done;
        RC_ASSERT(done == model_.set(key, {value, desk_.now + ttl}, when, desk_.now));
        if (!done) return;
        RC_ASSERT(answer.lease.token > highest_);
        highest_ = answer.lease.token;
    }

    KeysDesk desk_;
    ModelRedis model_;
    lease::Token highest_ = 0;
};

RC_GTEST_PROP(RedisKeysHistory, answers_as_redis_would, ()) {
    History history;
    for (const Step& step : steps()) {
        history.run(step);
        history.compare();
    }
}

}  // namespace
}  // namespace holdfast::redis
