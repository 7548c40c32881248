// What is let through, and what is not.

#include "codec/peer/peer_messages.h"

#include <functional>
#include <gtest/gtest.h>

#include "consensus/replicated_log.h"
#include "lease/limits.h"

namespace holdfast::peer {
namespace {

namespace limits = core::limits;

core::Lease plain_lease(core::Token token) {
    core::Lease lease;
    lease.token = token;
    lease.ttl = 60s;
    lease.expires_at = Instant(60s);
    lease.holder = "h";
    return lease;
}

core::Accept plain_accept() {
    core::Accept accept;
    accept.resource = "r";
    accept.ballot = {1, 1, 0};
    accept.record.record.leases = {plain_lease(5)};
    accept.record.record.last_token = 5;
    return accept;
}

/// Why it is not let through, or nothing.
std::string rejected(const Message& message) {
    Encoder encoder;
    Decoder decoder;
    std::string bytes;
    if (const auto appended = encoder.append(message, bytes); !appended) return appended.error().code;
    const auto frame = decoder.decode(bytes);
    if (!frame) return frame.error().code;
    EXPECT_EQ(frame->messages.size() + frame->rejected, 1U);
    return frame->why_rejected;
}

std::string rejected_record(const std::function<void(core::Record&)>& change) {
    core::Accept accept = plain_accept();
    change(accept.record.record);
    return rejected(core::QuorumMessage(accept));
}

std::string rejected_lease(const std::function<void(core::Lease&)>& change) {
    return rejected_record([&](core::Record& record) { change(record.leases.front()); });
}

TEST(PeerMessages, lets_through_a_record_that_is_as_large_as_the_rules_allow) {
    EXPECT_EQ(rejected_record([](core::Record& record) {
                  record.leases.clear();
                  for (core::Token token = 1; token <= limits::leases_per_record; ++token)
                      record.leases.push_back(plain_lease(token));
                  record.waiters.resize(limits::waiters_per_record);
                  for (core::Waiter& waiter : record.waiters)
                      waiter.holder = "w";
                  record.ended.resize(limits::ended_per_record, {7, core::Ending::revoked, Instant()});
              }),
              "");
}

TEST(PeerMessages, rejects_what_no_lease_can_be) {
    EXPECT_EQ(rejected_lease([](core::Lease&) {}), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.token = 0; }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.token = core::token_limit; }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.predicate = static_cast<core::Predicate>(6); }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.ttl = -1ns; }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.ttl = limits::ttl_ceiling + 1ns; }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.expires_at = Instant::max(); }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.held_since = Instant::min(); }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.acquired_wall_ms = -1; }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.acquired_wall_ms = limits::wall_ms_ceiling; }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.progress = core::Progress{1, Instant::max()}; }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.holder.clear(); }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.holder.assign(limits::holder_bytes + 1, 'x'); }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.session.assign(limits::session_bytes + 1, 'x'); }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.reason.assign(limits::reason_bytes + 1, 'x'); }), "");
    EXPECT_NE(rejected_lease([](core::Lease& lease) { lease.metadata.assign(limits::metadata_bytes + 1, 'x'); }), "");
}

TEST(PeerMessages, rejects_what_no_record_can_be) {
    EXPECT_NE(rejected_record([](core::Record& record) { record.last_token = core::token_limit; }), "");
    EXPECT_NE(rejected_record([](core::Record& record) { record.leases.push_back(plain_lease(5)); }), "");
    EXPECT_NE(rejected_record([](core::Record& record) { record.leases.push_back(plain_lease(4)); }), "");
    EXPECT_NE(rejected_record([](core::Record& record) {
                  for (core::Token token = 6; record.leases.size() <= limits::leases_per_record; ++token)
                      record.leases.push_back(plain_lease(token));
              }),
              "");
    EXPECT_NE(rejected_record([](core::Record& record) {
                  record.ended.resize(limits::ended_per_record + 1, {7, core::Ending::expired, Instant()});
              }),
              "");
    EXPECT_NE(rejected_record([](core::Record& record) {
                  record.ended = {{7, static_cast<core::Ending>(3), Instant()}};
              }),
              "");
    EXPECT_NE(rejected_record([](core::Record& record) {
                  record.waiters.resize(limits::waiters_per_record + 1);
                  for (core::Waiter& waiter : record.waiters)
                      waiter.holder = "w";
              }),
              "");
    EXPECT_NE(rejected_record([](core::Record& record) { record.waiters.resize(1); }), "") << "a waiter is somebody";
    EXPECT_NE(rejected_record([](core::Record& record) {
                  record.reserved.resize(max_reserved + 1, {plain_lease(1), Instant()});
              }),
              "");
}

TEST(PeerMessages, rejects_names_ballots_and_numbers_out_of_range) {
    EXPECT_EQ(rejected(core::QuorumMessage(core::Prepare{"", {1, 1, 0}})), "") << "a silent node tells its ballots so";
    EXPECT_NE(rejected(core::QuorumMessage(core::Accept{"", {1, 1, 0}, {2, 1, 0}, {}})), "");
    EXPECT_NE(rejected(core::QuorumMessage(core::Prepare{std::string(5000, 'r'), {1, 1, 0}})), "");
    EXPECT_NE(rejected(core::QuorumMessage(core::Prepare{"r", {1, 1, max_members}})), "");
    EXPECT_NE(rejected(core::QuorumMessage(core::Prepare{"r", {ballot_limit, 1, 0}})), "");
    core::Vote vote;
    EXPECT_EQ(rejected(core::QuorumMessage(vote)), "");
    vote.highest_token = core::token_limit;
    EXPECT_NE(rejected(core::QuorumMessage(vote)), "");
    EXPECT_NE(rejected(core::QuorumMessage(core::ReadRequest{1, static_cast<core::ReadRequest::Kind>(3), "r", 1})), "");
    EXPECT_NE(
        rejected(core::QuorumMessage(core::ReadRequest{1, core::ReadRequest::Kind::of_holder, "h", max_seen + 1})), "");
    EXPECT_NE(rejected(core::LogMessage(core::LogFetch{ballot_limit})), "");
    EXPECT_NE(rejected(core::LogMessage(core::LogPrepare{{core::token_limit, 0}, 1})), "");
    EXPECT_NE(
        rejected(core::LogMessage(core::LogSubmit{1, std::string(core::ReplicatedLog::max_value_bytes + 1, 'v')})), "");
}

TEST(PeerMessages, one_that_is_rejected_does_not_take_its_neighbours_along) {
    Encoder encoder;
    Decoder decoder;
    std::string bytes;
    ASSERT_TRUE(encoder.append(core::LogMessage(core::LogFetch{1}), bytes));
    ASSERT_TRUE(encoder.append(core::LogMessage(core::LogFetch{ballot_limit}), bytes));
    ASSERT_TRUE(encoder.append(core::LogMessage(core::LogFetch{3}), bytes));
    const auto frame = decoder.decode(bytes);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->messages.size(), 2U);
    EXPECT_EQ(frame->rejected, 1U);
}

TEST(PeerMessages, a_kind_that_is_not_known_here_is_skipped) {
    Encoder encoder;
    Decoder decoder;
    std::string bytes("\x0a\x03\xfa\x06\x00", 5);  // a message of the kind 111
    ASSERT_TRUE(encoder.append(core::LogMessage(core::LogFetch{1}), bytes));
    const auto frame = decoder.decode(bytes);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->messages.size(), 1U);
    EXPECT_EQ(frame->rejected, 0U);
}

TEST(PeerMessages, what_has_no_room_in_a_frame_is_an_error_and_leaves_the_frame_as_it_was) {
    Encoder encoder;
    std::string bytes = "before";
    const core::LogMessage large = core::LogInstall{{1, 0}, {1, std::string(max_frame_bytes, 's')}};
    const auto appended = encoder.append(large, bytes);
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code, "too_large");
    EXPECT_EQ(bytes, "before");
}

TEST(PeerMessages, a_snapshot_as_large_as_they_come_arrives_and_a_larger_one_does_not) {
    constexpr std::size_t most = core::ReplicatedLog::max_snapshot_bytes;
    EXPECT_EQ(rejected(core::LogMessage(core::LogInstall{{1, 0}, {1, std::string(most, 's')}})), "");
    EXPECT_NE(rejected(core::LogMessage(core::LogInstall{{1, 0}, {1, std::string(most + 1, 's')}})), "");
}

TEST(PeerMessages, what_is_no_frame_is_an_error) {
    Decoder decoder;
    EXPECT_EQ(decoder.decode("\x0a\xff").error().code, "malformed");
    EXPECT_EQ(decoder.decode(std::string(max_frame_bytes + 1, '\0')).error().code, "too_large");
    EXPECT_TRUE(decoder.decode(""));
}

TEST(PeerMessages, a_frame_of_too_many_messages_is_an_error) {
    std::string bytes;
    for (std::size_t count = 0; count <= max_messages; ++count)
        bytes.append("\x0a\x00", 2);
    Decoder decoder;
    EXPECT_EQ(decoder.decode(bytes).error().code, "too_large");
}

}  // namespace
}  // namespace holdfast::peer
