#include "authority/kept_request.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lease/limits.h"

namespace holdfast::authority {
namespace {

AcquireRequest back_from(const AcquireRequest& asked) {
    const KeptRequest kept(asked);
    EXPECT_EQ(kept.holder(), asked.holder);
    AcquireRequest back;  // what was there before must not show
    back.holder = back.session = back.reason = back.metadata = back.idempotency_key = back.caller.address = "before";
    back.epoch = back.progress = 7;
    back.ttl = 7s;
    back.intents.resize(3);
    back.reachable = [] { return false; };
    kept.unpack(back);
    EXPECT_FALSE(back.reachable);
    return back;
}

RC_GTEST_PROP(KeptRequest, brings_back_any_request, ()) {
    const auto text = [] { return *rc::gen::string<std::string>(); };
    const auto number = [] { return *rc::gen::arbitrary<std::uint64_t>(); };
    const auto yes = [] { return *rc::gen::arbitrary<bool>(); };
    AcquireRequest asked;
    asked.caller = {.address = text(), .connection = number(), .node = yes(), .acts_for = lease::Owner::keys};
    asked.holder = text();
    if (yes()) asked.epoch = number();
    asked.session = text();
    asked.intents.resize(*rc::gen::inRange<std::size_t>(0, 5));
    for (lease::Intent& intent : asked.intents)
        intent = {text(), *rc::gen::elementOf(lease::all_predicates)};
    if (yes()) asked.ttl = Duration{*rc::gen::arbitrary<std::int64_t>()};
    asked.wait = Duration{*rc::gen::arbitrary<std::int64_t>()};
    if (yes()) asked.progress = number();
    asked.reason = text();
    asked.metadata = text();
    asked.idempotency_key = text();

    const AcquireRequest back = back_from(asked);
    RC_ASSERT(back.caller.address == asked.caller.address);
    RC_ASSERT(back.caller.connection == asked.caller.connection);
    RC_ASSERT(back.caller.node == asked.caller.node);
    RC_ASSERT(back.caller.acts_for == asked.caller.acts_for);
    RC_ASSERT(back.holder == asked.holder);
    RC_ASSERT(back.epoch == asked.epoch);
    RC_ASSERT(back.session == asked.session);
    RC_ASSERT(back.intents == asked.intents);
    RC_ASSERT(back.ttl == asked.ttl);
    RC_ASSERT(back.wait == asked.wait);
    RC_ASSERT(back.progress == asked.progress);
    RC_ASSERT(back.reason == asked.reason);
    RC_ASSERT(back.metadata == asked.metadata);
    RC_ASSERT(back.idempotency_key == asked.idempotency_key);
}

TEST(KeptRequest, brings_back_the_longest_texts) {
    AcquireRequest asked;
    asked.holder = std::string(lease::limits::holder_bytes, 'h');
    asked.metadata = std::string(lease::limits::metadata_bytes, 'm');
    asked.intents.assign(lease::limits::intents_per_manifest,
                         lease::Intent{std::string(lease::limits::resource_bytes, 'r'), lease::Predicate::consumes});
    const AcquireRequest back = back_from(asked);
    EXPECT_EQ(back.metadata, asked.metadata);
    EXPECT_EQ(back.intents, asked.intents);
}

}  // namespace
}  // namespace holdfast::authority
