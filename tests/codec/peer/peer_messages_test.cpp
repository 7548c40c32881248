// What is let through, and what is not.

#include "codec/peer/peer_messages.h"

#include <functional>
#include <gtest/gtest.h>

#include "codec/record/record_codec.h"
#include "consensus/replicated_log.h"
#include "lease/limits.h"

namespace holdfast::codec::peer {
namespace {

namespace limits = lease::limits;

lease::Lease plain_lease(lease::Token token) {
    lease::Lease lease;
    lease.token = token;
    lease.ttl = 60s;
    lease.expires_at = Instant(60s);
    lease.holder = "h";
    return lease;
}

store::quorum::Accept plain_accept() {
    store::quorum::Accept accept;
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
    if (const auto appended = encoder.append(message, bytes); !appended)
        return std::string(appended.error().code.name());
    const auto frame = decoder.decode(bytes);
    if (!frame) return std::string(frame.error().code.name());
    EXPECT_EQ(frame->messages.size() + frame->rejected, 1U);
    return frame->why_rejected;
}

std::string rejected_record(const std::function<void(lease::Record&)>& change) {
    store::quorum::Accept accept = plain_accept();
    change(accept.record.record);
    return rejected(store::quorum::QuorumMessage(accept));
}

std::string rejected_lease(const std::function<void(lease::Lease&)>& change) {
    return rejected_record([&](lease::Record& record) { change(record.leases.front()); });
}

TEST(PeerMessages, lets_through_a_record_that_is_as_large_as_the_rules_allow) {
    EXPECT_EQ(rejected_record([](lease::Record& record) {
                  record.leases.clear();
                  for (lease::Token token = 1; token <= lease::limits::leases_per_record; ++token)
                      record.leases.push_back(plain_lease(token));
                  record.waiters.resize(lease::limits::waiters_per_record);
                  for (lease::Waiter& waiter : record.waiters) {
                      waiter.id = 1;
                      waiter.holder = "w";
                  }
                  record.ended.resize(lease::limits::ended_per_record, {7, lease::Ending::revoked, Instant()});
              }),
              "");
}

TEST(PeerMessages, rejects_what_no_lease_can_be) {
    EXPECT_EQ(rejected_lease([](lease::Lease&) {}), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.token = 0; }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.token = lease::token_limit; }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.predicate = static_cast<lease::Predicate>(6); }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.ttl = -1ns; }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.ttl = 0ns; }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.expires_at = Instant(max_future + 1ns); }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.acquired_at = Instant(-max_past - 1ns); }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.ttl = lease::limits::ttl_ceiling + 1ns; }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.expires_at = Instant::max(); }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.held_since = Instant::min(); }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.acquired_wall_ms = -1; }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.acquired_wall_ms = lease::limits::wall_ms_ceiling; }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.progress = lease::Progress{1, Instant::max()}; }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.holder.clear(); }), "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.holder.assign(lease::limits::holder_bytes + 1, 'x'); }),
              "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.session.assign(lease::limits::session_bytes + 1, 'x'); }),
              "");
    EXPECT_NE(rejected_lease([](lease::Lease& lease) { lease.reason.assign(lease::limits::reason_bytes + 1, 'x'); }),
              "");
    EXPECT_NE(
        rejected_lease([](lease::Lease& lease) { lease.metadata.assign(lease::limits::metadata_bytes + 1, 'x'); }), "");
}

TEST(PeerMessages, rejects_what_no_record_can_be) {
    EXPECT_NE(rejected_record([](lease::Record& record) { record.last_token = lease::token_limit; }), "");
    EXPECT_NE(rejected_record([](lease::Record& record) { record.leases.push_back(plain_lease(5)); }), "");
    EXPECT_NE(rejected_record([](lease::Record& record) { record.leases.push_back(plain_lease(4)); }), "");
    EXPECT_NE(rejected_record([](lease::Record& record) {
                  for (lease::Token token = 6; record.leases.size() <= lease::limits::leases_per_record; ++token)
                      record.leases.push_back(plain_lease(token));
              }),
              "");
    EXPECT_NE(rejected_record([](lease::Record& record) {
                  record.ended.resize(lease::limits::ended_per_record + 1, {7, lease::Ending::expired, Instant()});
              }),
              "");
    EXPECT_NE(rejected_record([](lease::Record& record) {
                  record.ended = {{7, static_cast<lease::Ending>(3), Instant()}};
              }),
              "");
    EXPECT_NE(rejected_record([](lease::Record& record) {
                  record.waiters.resize(lease::limits::waiters_per_record + 1);
                  for (lease::Waiter& waiter : record.waiters) {
                      waiter.id = 1;
                      waiter.holder = "w";
                  }
              }),
              "");
    const auto rejected_waiter = [](std::uint64_t id, const std::string& holder) {
        return rejected_record([&](lease::Record& record) {
            record.waiters.resize(1);
            record.waiters[0].id = id;
            record.waiters[0].holder = holder;
        });
    };
    EXPECT_EQ(rejected_waiter(1, "w"), "");
    EXPECT_NE(rejected_waiter(1, ""), "") << "a waiter is somebody";
    EXPECT_NE(rejected_waiter(0, "w"), "") << "and is known by the number of its request";
    EXPECT_NE(rejected_record([](lease::Record& record) {
                  record.reserved.resize(record::max_reserved + 1, {plain_lease(1), Instant()});
              }),
              "");
}

TEST(PeerMessages, rejects_names_ballots_and_numbers_out_of_range) {
    EXPECT_EQ(rejected(store::quorum::QuorumMessage(store::quorum::Prepare{"", {1, 1, 0}})), "")
        << "a silent node tells its ballots so";
    EXPECT_NE(rejected(store::quorum::QuorumMessage(store::quorum::Accept{"", {1, 1, 0}, {2, 1, 0}, {}})), "");
    EXPECT_NE(rejected(store::quorum::QuorumMessage(store::quorum::Prepare{std::string(5000, 'r'), {1, 1, 0}})), "");
    EXPECT_NE(rejected(store::quorum::QuorumMessage(store::quorum::Prepare{"r", {1, 1, max_members}})), "");
    EXPECT_NE(rejected(store::quorum::QuorumMessage(store::quorum::Prepare{"r", {ballot_limit, 1, 0}})), "");
    store::quorum::Vote vote;
    EXPECT_EQ(rejected(store::quorum::QuorumMessage(vote)), "");
    vote.highest_token = lease::token_limit;
    EXPECT_NE(rejected(store::quorum::QuorumMessage(vote)), "");
    EXPECT_NE(rejected(store::quorum::QuorumMessage(
                  store::quorum::ReadRequest{1, static_cast<store::quorum::ReadRequest::Kind>(3), "r", 1})),
              "");
    EXPECT_NE(rejected(store::quorum::QuorumMessage(
                  store::quorum::ReadRequest{1, store::quorum::ReadRequest::Kind::of_holder, "h", max_seen + 1})),
              "");
    EXPECT_NE(rejected(consensus::LogMessage(consensus::LogFetch{ballot_limit})), "");
    EXPECT_NE(rejected(consensus::LogMessage(consensus::LogPrepare{{lease::token_limit, 0}, 1})), "");
    EXPECT_NE(rejected(consensus::LogMessage(
                  consensus::LogSubmit{1, std::string(consensus::ReplicatedLog::max_value_bytes + 1, 'v')})),
              "");
}

TEST(PeerMessages, one_that_is_rejected_does_not_take_its_neighbours_along) {
    Encoder encoder;
    Decoder decoder;
    std::string bytes;
    ASSERT_TRUE(encoder.append(consensus::LogMessage(consensus::LogFetch{1}), bytes));
    ASSERT_TRUE(encoder.append(consensus::LogMessage(consensus::LogFetch{ballot_limit}), bytes));
    ASSERT_TRUE(encoder.append(consensus::LogMessage(consensus::LogFetch{3}), bytes));
    const auto frame = decoder.decode(bytes);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->messages.size(), 2U);
    EXPECT_EQ(frame->rejected, 1U);
}

TEST(PeerMessages, a_kind_that_is_not_known_here_is_skipped) {
    Encoder encoder;
    Decoder decoder;
    std::string bytes("\x0a\x03\xfa\x06\x00", 5);  // a message of the kind 111
    ASSERT_TRUE(encoder.append(consensus::LogMessage(consensus::LogFetch{1}), bytes));
    const auto frame = decoder.decode(bytes);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->messages.size(), 1U);
    EXPECT_EQ(frame->rejected, 0U);
}

TEST(PeerMessages, what_has_no_room_in_a_frame_is_an_error_and_leaves_the_frame_as_it_was) {
    Encoder encoder;
    std::string bytes = "before";
    const consensus::LogMessage large = consensus::LogInstall{{1, 0}, {1, std::string(max_frame_bytes, 's')}};
    const auto appended = encoder.append(large, bytes);
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code, Code::too_large);
    EXPECT_EQ(bytes, "before");
}

TEST(PeerMessages, a_snapshot_as_large_as_they_come_arrives_and_a_larger_one_does_not) {
    constexpr std::size_t most = consensus::ReplicatedLog::max_snapshot_bytes;
    EXPECT_EQ(rejected(consensus::LogMessage(consensus::LogInstall{{1, 0}, {1, std::string(most, 's')}})), "");
    EXPECT_NE(rejected(consensus::LogMessage(consensus::LogInstall{{1, 0}, {1, std::string(most + 1, 's')}})), "");
}

TEST(PeerMessages, what_is_no_frame_is_an_error) {
    Decoder decoder;
    EXPECT_EQ(decoder.decode("\x0a\xff").error().code, Code::malformed);
    EXPECT_EQ(decoder.decode(std::string(max_frame_bytes + 1, '\0')).error().code, Code::too_large);
    EXPECT_TRUE(decoder.decode(""));
}

TEST(PeerMessages, a_frame_of_too_many_messages_is_an_error) {
    std::string bytes;
    for (std::size_t count = 0; count <= max_messages; ++count)
        bytes.append("\x0a\x00", 2);
    Decoder decoder;
    EXPECT_EQ(decoder.decode(bytes).error().code, Code::too_large);
}

}  // namespace
}  // namespace holdfast::codec::peer
