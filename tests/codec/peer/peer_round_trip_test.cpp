// What one node says is what the other hears.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "codec/peer/random_messages.h"

namespace holdfast::codec::peer {
namespace {

bool all_same(const std::vector<Message>& a, const std::vector<Message>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

RC_GTEST_PROP(PeerRoundTrip, a_message_of_every_kind_arrives_with_equal_content, (std::uint64_t seed)) {
    RandomMessages messages(seed);
    Encoder encoder;
    Decoder decoder;
    for (std::size_t kind = 0; kind < message_kinds; ++kind) {
        const Message message = messages.of_kind(kind);
        std::string bytes;
        RC_ASSERT(static_cast<bool>(encoder.append(message, bytes)));
        const auto frame = decoder.decode(bytes);
        RC_ASSERT(static_cast<bool>(frame));
        RC_ASSERT(frame->why_rejected == "");
        RC_ASSERT(frame->messages.size() == 1U);
        RC_ASSERT(same(frame->messages.front(), message));
    }
}

RC_GTEST_PROP(PeerRoundTrip, many_messages_in_one_frame_arrive_in_order, (std::uint64_t seed)) {
    RandomMessages random(seed);
    Encoder encoder;
    Decoder decoder;
    const auto kinds = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, message_kinds));
    std::vector<Message> messages;
    std::string bytes;
    for (std::size_t kind : kinds) {
        messages.push_back(random.of_kind(kind));
        RC_ASSERT(static_cast<bool>(encoder.append(messages.back(), bytes)));
    }
    append_ping(seed | 1, bytes);
    const std::vector<store::quorum::LifeMark> lives{
        {static_cast<store::quorum::BootNumber>(seed), seed}, {}, {~0U, ~seed}};
    append_lives(lives, bytes);
    append_pong(7, bytes);
    const auto frame = decoder.decode(bytes);
    RC_ASSERT(static_cast<bool>(frame));
    RC_ASSERT(all_same(frame->messages, messages));
    RC_ASSERT(frame->ping == (seed | 1));
    RC_ASSERT(frame->lives == lives);
    RC_ASSERT(frame->pong == 7U);
}

RC_GTEST_PROP(PeerRoundTrip, bytes_that_were_changed_are_refused_or_read_within_the_limits, (std::uint64_t seed)) {
    RandomMessages messages(seed);
    Random random(seed);
    Encoder encoder;
    Decoder decoder;
    std::string bytes;
    for (std::size_t kind = 0; kind < message_kinds; ++kind)
        RC_ASSERT(static_cast<bool>(encoder.append(messages.of_kind(kind), bytes)));
    for (int changes = 0; changes < 20; ++changes) {
        bytes[random.below(bytes.size())] = static_cast<char>(random.next());
        const auto frame = decoder.decode(bytes);
        if (!frame) continue;
        // What was let through can be said again, and is let through again.
        for (const Message& message : frame->messages) {
            std::string again;
            RC_ASSERT(static_cast<bool>(encoder.append(message, again)));
            const auto heard = decoder.decode(again);
            RC_ASSERT(heard && heard->messages.size() == 1U && same(heard->messages.front(), message));
        }
    }
}

}  // namespace
}  // namespace holdfast::codec::peer
