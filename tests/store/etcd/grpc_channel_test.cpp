#include "store/etcd/grpc_channel.h"

#include "base/random.h"
#include "etcd_fixture.h"
#include "fake_grpc_server.h"

namespace holdfast::store::etcd {
namespace {

using namespace std::chrono_literals;

/// A channel to a server that answers each call as the test says.
class GrpcChannelTest : public testing::Test {
 protected:
    GrpcChannel& channel(Duration answer_within = 10s) {
        channel_ = std::make_unique<GrpcChannel>(loop.io, GrpcChannel::Options{server.address(), answer_within},
                                                 GrpcChannel::Told{[] {}, [this](std::string why) { lost = why; }});
        return *channel_;
    }
    GrpcAnswer call(GrpcChannel& to, const std::string& message = "hello") {
        std::optional<GrpcAnswer> got;
        to.call("/test.Test/Call", message, [&](GrpcAnswer answer) { got = std::move(answer); });
        EXPECT_FALSE(got) << "answered within the call";
        EXPECT_TRUE(loop.run_until([&] { return got.has_value(); }));
        return got.value_or(GrpcAnswer{{-1, "no answer"}, {}});
    }
    GrpcAnswer answer_to(FakeAnswer how) {
        answers = [how](const std::string&) { return how; };
        return call(channel());
    }

    Loop loop;
    std::function<FakeAnswer(const std::string&)> answers = [](const std::string& message) {
        return FakeAnswer{FakeAnswer::framed("re: " + message)};
    };
    FakeGrpcServer server{loop.io, [this](const std::string&, const std::string& message) { return answers(message); }};
    std::string lost;
    std::unique_ptr<GrpcChannel> channel_;
};

TEST_F(GrpcChannelTest, brings_the_answer_of_a_call) {
    GrpcChannel& open = channel(2s);
    open.set_metadata({{"token", "t"}});
    const GrpcAnswer answer = call(open);
    EXPECT_EQ(answer.status.code, GrpcStatus::ok) << answer.status.message;
    EXPECT_EQ(answer.message, "re: hello");
    ASSERT_EQ(server.headers.size(), 1u);
    EXPECT_EQ(server.headers[0][":path"], "/test.Test/Call");
    EXPECT_EQ(server.headers[0][":method"], "POST");
    EXPECT_EQ(server.headers[0]["te"], "trailers");
    EXPECT_EQ(server.headers[0]["content-type"], "application/grpc");
    EXPECT_EQ(server.headers[0]["grpc-timeout"], "2000m");
    EXPECT_EQ(server.headers[0]["token"], "t");
}

TEST_F(GrpcChannelTest, brings_empty_and_long_messages) {
    GrpcChannel& open = channel();
    answers = [](const std::string& message) { return FakeAnswer{FakeAnswer::framed(message)}; };
    EXPECT_EQ(call(open, "").status.code, GrpcStatus::ok);
    const std::string long_one(9'000'000, 'x');
    EXPECT_TRUE(call(open, long_one).message == long_one);
}

TEST_F(GrpcChannelTest, tells_errors_with_or_without_a_body_before_them) {
    for (const bool trailers_only : {false, true}) {
        const GrpcAnswer answer =
            answer_to({.body = "", .status = "5", .text = "not%20there", .trailers_only = trailers_only});
        EXPECT_EQ(answer.status.code, GrpcStatus::not_found);
        EXPECT_EQ(answer.status.message, "not there");
    }
    EXPECT_EQ(lost, "");
}

TEST_F(GrpcChannelTest, does_not_take_what_is_broken_for_an_answer) {
    const std::string whole = FakeAnswer::framed("whole");
    EXPECT_EQ(answer_to({.body = ""}).status.code, GrpcStatus::internal) << "no message";
    EXPECT_EQ(answer_to({.body = whole.substr(0, 8)}).status.code, GrpcStatus::internal) << "part of a message";
    EXPECT_EQ(answer_to({.body = whole, .status = ""}).status.code, GrpcStatus::unknown) << "no status";
    EXPECT_EQ(answer_to({.body = whole, .status = "what"}).status.code, GrpcStatus::unknown);
    EXPECT_EQ(answer_to({.body = whole, .status = "", .http_status = "502"}).status.message,
              "it answered with HTTP status 502");
    EXPECT_EQ(answer_to({.body = "\1" + whole.substr(1)}).status.code, GrpcStatus::internal) << "compressed";
    EXPECT_EQ(answer_to({.body = std::string("\0\xff\xff\xff\xff", 5)}).status.code, GrpcStatus::internal) << "4 GiB";
    EXPECT_EQ(answer_to({.body = "", .reset = true}).status.code, GrpcStatus::unavailable);
    EXPECT_EQ(lost, "") << "the connection is as good as before";
}

TEST_F(GrpcChannelTest, is_lost_with_all_that_is_under_way_when_the_server_says_goodbye) {
    GrpcChannel& open = channel();
    std::vector<int> codes;
    answers = [](const std::string& message) {
        return FakeAnswer{.body = "", .goodbye = message == "last", .silent = true};
    };
    for (const char* message : {"first", "last"})
        open.call("/test.Test/Call", message, [&](const GrpcAnswer& answer) { codes.push_back(answer.status.code); });
    ASSERT_TRUE(loop.run_until([&] { return codes.size() == 2; }));
    EXPECT_EQ(codes, (std::vector<int>{GrpcStatus::unavailable, GrpcStatus::unavailable}));
    EXPECT_EQ(lost, "it says goodbye");
    EXPECT_EQ(call(open).status.code, GrpcStatus::unavailable) << "and later ones";
}

TEST_F(GrpcChannelTest, gives_up_a_call_that_takes_too_long_and_no_other) {
    GrpcChannel& open = channel(300ms);
    answers = [](const std::string& message) {
        return FakeAnswer{.body = FakeAnswer::framed("re"), .silent = message == "never"};
    };
    EXPECT_EQ(call(open, "never").status.code, GrpcStatus::deadline_exceeded);
    EXPECT_EQ(call(open).status.code, GrpcStatus::ok);
    EXPECT_EQ(lost, "");
}

TEST_F(GrpcChannelTest, sends_what_is_begun_in_one_turn_in_one_piece) {
    GrpcChannel& open = channel();
    ASSERT_EQ(call(open).status.code, GrpcStatus::ok);
    server.pieces = 0;
    int answered = 0;
    for (int i = 0; i < 1000; ++i)
        open.call("/test.Test/Call", "m" + std::to_string(i),
                  [&, i](const GrpcAnswer& answer) { answered += answer.message == "re: m" + std::to_string(i); });
    ASSERT_TRUE(loop.run_until([&] { return answered == 1000; }));
    EXPECT_LE(server.pieces, 10) << "of 64 KiB at most";
}

TEST_F(GrpcChannelTest, brings_what_a_stream_tells_until_it_ends) {
    GrpcChannel& open = channel();
    answers = [](const std::string&) {
        return FakeAnswer{FakeAnswer::framed("one") + FakeAnswer::framed("") + FakeAnswer::framed("three"), "14",
                          "gone"};
    };
    std::vector<std::string> told;
    std::optional<GrpcStatus> end;
    open.stream("/test.Test/Watch", "begin",
                {[&](std::string_view message) { told.emplace_back(message); },
                 [&](const GrpcStatus& status) { end = status; }});
    ASSERT_TRUE(loop.run_until([&] { return end.has_value(); }));
    EXPECT_EQ(told, (std::vector<std::string>{"one", "", "three"}));
    EXPECT_EQ(end->code, GrpcStatus::unavailable);
    EXPECT_FALSE(server.headers[0].contains("grpc-timeout"));
}

TEST(GrpcSession, survives_whatever_comes) {
    Random random(1);
    int broken = 0;
    for (int round = 0; round < 500; ++round) {
        GrpcSession session;
        const auto stream = session.begin({"a", "/p", {}, "m", false});
        ASSERT_TRUE(stream);
        std::string out, in;
        session.take_output(out);
        // A frame of settings, as all begin with, and then anything.
        if (round % 2 == 0) in.assign("\0\0\0\4\0\0\0\0\0", 9);
        for (std::uint64_t size = random.below(300), i = 0; i < size; ++i)
            in += static_cast<char>(i % 9 == 3 ? random.below(10) : i % 9 < 2 ? 0 : random.next());
        session.receive(in);
        session.take_events();
        session.take_output(out);
        broken += session.broken().has_value();
    }
    EXPECT_GT(broken, 100);
}

}  // namespace
}  // namespace holdfast::store::etcd
