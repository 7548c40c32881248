#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "authority/desk.h"
#include "redis/redis_keys.h"

namespace holdfast::redis {

/// Redis's commands on an authority, with time in the test's hand.
class KeysDesk : public authority::Desk {
 public:
    explicit KeysDesk(lease::Policy policy = {}, Instant recovering_until = Instant{})
        : Desk(std::move(policy), recovering_until) {
        authority.events().subscribe([this](const authority::Event& event) {
            happened.push_back(std::string(to_string(event.kind)) + " " + event.holder);
        });
    }

    using SimpleRule = void (*)(authority::RecordTransaction&);

    authority::SingleRecordAnswer run(const std::string& key, const std::string& value,
                                      authority::SingleRecord::Rule rule, bool takes = false) {
        std::optional<authority::SingleRecordAnswer> got;
        authority.single_record().update(
            {.resource = "@redis/" + key, .holder = value, .extra = {}, .takes = takes, .exact = true}, std::move(rule),
            [&got](const authority::SingleRecordAnswer& answer) { got = answer; });
        return *got;
    }

    authority::SingleRecordAnswer set(const std::string& key, const std::string& value, Duration ttl,
                                      SetTerms::When when = SetTerms::When::always) {
        return set(key, value, SetTerms{.when = when, .ttl = ttl});
    }
    authority::SingleRecordAnswer set(const std::string& key, const std::string& value, SetTerms terms) {
        return run(
            key, value, [terms](authority::RecordTransaction& desk) { set_key(desk, terms); }, true);
    }
    bool set_nx(const std::string& key, const std::string& value, Duration ttl = 30s) {
        const auto answer = set(key, value, ttl, SetTerms::When::absent);
        return !answer.refused && outcome_of(answer) == KeyOutcome::done;
    }

    /// Nothing if there is no such key.
    std::optional<std::string> get(const std::string& key) {
        const auto answer = run(key, "", &get_key);
        if (outcome_of(answer) != KeyOutcome::done) return std::nullopt;
        return answer.text;
    }
    KeyOutcome outcome(const std::string& key, const std::string& value, SimpleRule rule, bool takes = false) {
        return outcome_of(run(key, value, rule, takes));
    }
    authority::SingleRecordAnswer expire(const std::string& key, Duration ttl, ExpireWhen when = ExpireWhen::always) {
        return run(key, "", [ttl, when](authority::RecordTransaction& desk) { expire_key(desk, ttl, when); });
    }
    authority::SingleRecordAnswer expire_mine(const std::string& key, const std::string& value, Duration ttl) {
        return run(key, value, [ttl](authority::RecordTransaction& desk) { expire_if_equal(desk, ttl); });
    }
    std::int64_t pttl(const std::string& key) { return run(key, "", &time_left).number; }

    /// The only lease on a key.
    lease::Lease lease_on(const std::string& key) {
        std::optional<lease::Lease> found;
        authority.list({.name_space = "redis", .prefix = key, .holder = {}},
                       [&found](const authority::Answer<store::ListPage>& answer) {
                           const auto& leases = std::get<store::ListPage>(answer).leases;
                           if (leases.size() == 1) found = leases[0].lease;
                       });
        return found.value_or(lease::Lease{});
    }

    std::vector<std::string> happened;
};

}  // namespace holdfast::redis
