#include "supervise/messages.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/fd.h"

namespace holdfast::supervise {
namespace {

const WorkDeadlines some_deadlines{HolderInstant{Duration{1234567890123456789}},
                                   HolderInstant{Duration{1234567990123456789}}};

TEST(GuardianMessages, carry_a_start_order_with_its_environment) {
    const Order order = StartOrder{some_deadlines, true, {"A=1", "EMPTY=", "LINES=one\ntwo"}};
    const auto decoded = decode_order(encode(order));
    ASSERT_TRUE(decoded && std::holds_alternative<StartOrder>(*decoded));
    const auto& start = std::get<StartOrder>(*decoded);
    EXPECT_EQ(start.deadlines.soft, some_deadlines.soft);
    EXPECT_EQ(start.deadlines.hard, some_deadlines.hard);
    EXPECT_TRUE(start.foreground);
    EXPECT_EQ(start.environment, (std::vector<std::string>{"A=1", "EMPTY=", "LINES=one\ntwo"}));
}

TEST(GuardianMessages, carry_where_and_how_a_backend_runs) {
    StartOrder order{some_deadlines, false, {"A=1"}};
    order.whole = true;
    order.session = true;
    order.directory = "/srv/a b";
    order.cgroup = "/sys/fs/cgroup/x";
    const auto decoded = decode_order(encode(Order{order}));
    ASSERT_TRUE(decoded && std::holds_alternative<StartOrder>(*decoded));
    const auto& start = std::get<StartOrder>(*decoded);
    EXPECT_TRUE(start.whole);
    EXPECT_TRUE(start.session);
    EXPECT_FALSE(start.foreground);
    EXPECT_EQ(start.directory, "/srv/a b");
    EXPECT_EQ(start.cgroup, "/sys/fs/cgroup/x");
    EXPECT_EQ(start.environment, std::vector<std::string>{"A=1"});
}

TEST(GuardianMessages, carry_a_stop_with_its_instant) {
    const auto stop = decode_order(encode(Order{StopOrder{some_deadlines.soft}}));
    ASSERT_TRUE(stop && std::holds_alternative<StopOrder>(*stop));
    EXPECT_EQ(std::get<StopOrder>(*stop).kill_at, some_deadlines.soft);
}

TEST(GuardianMessages, carry_a_signal_to_pass_on) {
    const auto passed = decode_order(encode(Order{SignalOrder{15}}));
    ASSERT_TRUE(passed && std::holds_alternative<SignalOrder>(*passed));
    EXPECT_EQ(std::get<SignalOrder>(*passed).signal, 15);
}

TEST(GuardianMessages, carry_renewals_and_loss) {
    const auto renewed = decode_order(encode(Order{RenewedOrder{some_deadlines}}));
    ASSERT_TRUE(renewed && std::holds_alternative<RenewedOrder>(*renewed));
    EXPECT_EQ(std::get<RenewedOrder>(*renewed).deadlines.hard, some_deadlines.hard);
    const auto lost = decode_order(encode(Order{LostOrder{}}));
    EXPECT_TRUE(lost && std::holds_alternative<LostOrder>(*lost));
}

TEST(GuardianMessages, carry_every_report) {
    const auto started = std::get<StartedReport>(*decode_report(encode(Report{StartedReport{77, 76}})));
    EXPECT_EQ(started.group, 77);
    EXPECT_EQ(started.guardian, 76);
    EXPECT_EQ(std::get<CannotRunReport>(*decode_report(encode(Report{CannotRunReport{2}}))).error, 2);
    EXPECT_EQ(std::get<StoppedReport>(*decode_report(encode(Report{StoppedReport{20}}))).signal, 20);
    const auto ended = std::get<EndedReport>(*decode_report(encode(Report{EndedReport{0x0300, true, 4}})));
    EXPECT_EQ(ended.status, 0x0300);
    EXPECT_TRUE(ended.forced);
    EXPECT_EQ(ended.left_behind, 4);
}

TEST(GuardianMessages, refuse_what_is_cut_short_or_unknown) {
    EXPECT_FALSE(decode_order(""));
    EXPECT_FALSE(decode_order("abc"));
    EXPECT_FALSE(decode_report(""));
    std::string unknown = encode(Order{LostOrder{}});
    unknown[0] = 99;
    EXPECT_FALSE(decode_order(unknown));
    EXPECT_FALSE(decode_report(unknown));
}

TEST(GuardianMessages, keep_their_bounds_and_tell_an_end_from_silence) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    Fd one{ends[0]};
    Fd other{ends[1]};
    EXPECT_FALSE(receive_message(other.get()));
    ASSERT_TRUE(send_message(one.get(), "first", false));
    ASSERT_TRUE(send_message(one.get(), std::string(max_message_bytes, 'x'), true));
    EXPECT_EQ(receive_message(other.get()), "first");
    EXPECT_EQ(receive_message(other.get())->size(), max_message_bytes);
    one.close();
    EXPECT_EQ(receive_message(other.get()), "");
    EXPECT_FALSE(send_message(other.get(), "late", true)) << "and no SIGPIPE";
}

TEST(GuardianMessages, arrive_even_if_the_sender_left_without_reading_its_own) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const Fd one{ends[0]};
    Fd other{ends[1]};
    ASSERT_TRUE(send_message(one.get(), "never read", false));
    ASSERT_TRUE(send_message(other.get(), "last words", false));
    other.close();
    EXPECT_EQ(receive_message(one.get()), "last words");
    EXPECT_EQ(receive_message(one.get()), "");
}

TEST(GuardianMessages, do_not_block_on_a_stopped_reader) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const Fd one{ends[0]};
    const Fd other{ends[1]};
    int sent = 0;
    while (send_message(one.get(), encode(Order{LostOrder{}}), false) && sent < 1'000'000)
        ++sent;
    EXPECT_GT(sent, 10);
    EXPECT_LT(sent, 1'000'000);
}

}  // namespace
}  // namespace holdfast::supervise
