#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "authority/answers.h"
#include "store/store.h"

namespace holdfast::authority {

/// The code for a failure of the store or the disk.
inline Code code_of_failure(const Error& error) {
    for (const Code code : {Code::unavailable, Code::store_unavailable, Code::invalid_argument, Code::invalid_policy,
                            Code::stale_epoch, Code::too_many_agents})
        if (error.code == code) return code;
    return Code::storage_failed;
}

/// The answer to a request when the store or the disk failed.
inline Refused storage_failure(const Error& error) {
    const Code code = code_of_failure(error);
    const bool passes = code == Code::unavailable || code == Code::store_unavailable;
    return {code, error.message, passes ? error.retry_in.value_or(Duration{1s}) : error.retry_in};
}

/// The verdict of a rule, and its effect on the record.
template <class Verdict>
struct Ruling {
    using verdict_type = Verdict;
    Verdict verdict;
    store::Effect effect = store::Effect::none;
};

/// Calls a rule with or without the neighbours, as it requires.
template <class Rule>
auto call_rule(Rule& rule, lease::Record& record, const lease::Neighbours& neighbours, Instant now) {
    if constexpr (std::is_invocable_v<Rule&, lease::Record&, const lease::Neighbours&, Instant>)
        return rule(record, neighbours, now);
    else
        return rule(record, now);
}

/// Runs a rule on one record: `rule(Record&, [const Neighbours&,] Instant) -> Ruling<Verdict>`, then
/// `done(Result<Verdict>)` once the store has answered. Both are kept until then.
template <class Rule, class Done>
void apply_rule(store::Store& store, std::string_view resource, Rule rule, Done done) {
    using Verdict = typename decltype(call_rule(rule, std::declval<lease::Record&>(),
                                                std::declval<const lease::Neighbours&>(), Instant{}))::verdict_type;

    class RuleUpdate final : public store::Update {
     public:
        RuleUpdate(Rule rule, Done done) : rule_(std::move(rule)), done_(std::move(done)) {}

        store::Effect apply(lease::Record& record, const lease::Neighbours& neighbours, Instant now) override {
            auto ruling = call_rule(rule_, record, neighbours, now);
            verdict_.emplace(std::move(ruling.verdict));
            return ruling.effect;
        }
        void done(Result<void> outcome) override {
            const std::unique_ptr<RuleUpdate> self(this);
            if (outcome)
                done_(Result<Verdict>(std::move(*verdict_)));
            else
                done_(Result<Verdict>(outcome.error()));
        }

     private:
        Rule rule_;
        Done done_;
        std::optional<Verdict> verdict_;
    };
    store.update(resource, *new RuleUpdate(std::move(rule), std::move(done)));
}

}  // namespace holdfast::authority
