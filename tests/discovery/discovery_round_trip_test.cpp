// What one end says is what the other hears.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "codec/frame.h"
#include "discovery/random_messages.h"

namespace holdfast::discovery {
namespace {

std::string body_of(const Message& message) {
    std::string frame;
    append_frame(message, frame);
    return frame.substr(codec::frame_header_bytes);
}

RC_GTEST_PROP(DiscoveryRoundTrip, a_message_of_every_kind_arrives_with_equal_content, (std::uint64_t seed)) {
    RandomMessages messages(seed);
    for (std::size_t kind = 0; kind < message_kinds; ++kind) {
        const Message message = messages.of_kind(kind);
        RC_ASSERT(message.index() == kind);
        const auto heard = decode(body_of(message));
        RC_ASSERT(static_cast<bool>(heard));
        RC_ASSERT(*heard == message);
    }
}

RC_GTEST_PROP(DiscoveryRoundTrip, an_update_arrives_with_equal_content, (std::uint64_t seed)) {
    const Update update = RandomMessages(seed).update();
    const auto heard = decode_update(encode(update));
    RC_ASSERT(static_cast<bool>(heard));
    RC_ASSERT(*heard == update);
}

RC_GTEST_PROP(DiscoveryRoundTrip, bytes_that_were_changed_are_refused_or_read_within_the_limits, (std::uint64_t seed)) {
    RandomMessages messages(seed);
    Random random(seed);
    for (std::size_t kind = 0; kind < message_kinds; ++kind) {
        std::string body = body_of(messages.of_kind(kind));
        for (int changes = 0; changes < 20 && !body.empty(); ++changes) {
            body[random.below(body.size())] = static_cast<char>(random.next());
            const auto heard = decode(body);
            if (!heard) {
                RC_ASSERT(heard.error().code == Code::malformed);
                continue;
            }
            // What was let through can be said again, and is let through again.
            const auto again = decode(body_of(*heard));
            RC_ASSERT(again && *again == *heard);
        }
    }
}

RC_GTEST_PROP(DiscoveryRoundTrip, an_update_that_was_changed_is_refused_or_read_within_the_limits,
              (std::uint64_t seed)) {
    Random random(seed);
    std::string bytes = encode(RandomMessages(seed).update());
    for (int changes = 0; changes < 50; ++changes) {
        bytes[random.below(bytes.size())] = static_cast<char>(random.next());
        const auto heard = decode_update(bytes);
        if (!heard) continue;
        const auto again = decode_update(encode(*heard));
        RC_ASSERT(again && *again == *heard);
    }
}

}  // namespace
}  // namespace holdfast::discovery
