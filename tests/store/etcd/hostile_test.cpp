#include <boost/asio/write.hpp>

#include "etcd.pb.h"
#include "etcd_fixture.h"
#include "fake_grpc_server.h"

namespace holdfast::store::etcd {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;

/// Answers whoever connects with these bytes, whatever they say.
class Rude {
 public:
    Rude(boost::asio::io_context& io, std::string says)
        : says_(std::move(says)), acceptor_(io, {boost::asio::ip::address_v4::loopback(), 0}) {
        accept();
    }
    EtcdEngineOptions options() const {
        auto options = *parse_etcd_engine("etcd://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()));
        options.connect_within = 500ms;
        return options;
    }

 private:
    void accept() {
        acceptor_.async_accept([this](boost::system::error_code error, tcp::socket socket) {
            if (error) return;
            sockets_.push_back(std::move(socket));
            boost::asio::write(sockets_.back(), boost::asio::buffer(says_), error);
            accept();
        });
    }
    std::string says_;
    tcp::acceptor acceptor_;
    std::vector<tcp::socket> sockets_;
};

TEST(Hostile, a_server_that_speaks_no_http2_is_told_from_one_that_is_away) {
    Loop loop;
    Rude web(loop.io, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
        noise(loop.io, std::string(1000, '\xfe')), silent(loop.io, "");
    Front a(loop, web.options()), b(loop, noise.options()), c(loop, silent.options());
    ASSERT_TRUE(loop.run_until([&] { return a.times_unreachable && b.times_unreachable && c.times_unreachable; }));
    EXPECT_NE(a.why.message.find("HTTP/2"), std::string::npos) << a.why.message;
    EXPECT_NE(b.why.message.find("HTTP/2"), std::string::npos) << b.why.message;
    EXPECT_NE(c.why.message.find("too long"), std::string::npos) << c.why.message;
    EXPECT_FALSE(a.fetch("x"));
}

/// An etcd with nothing in it that says what is expected of it, but for the calls that a test answers itself.
class HostileEtcd : public testing::Test {
 protected:
    template <class Message>
    FakeAnswer saying(Message message) const {
        message.mutable_header()->set_cluster_id(cluster);
        if (message.header().revision() == 0) message.mutable_header()->set_revision(revision);
        return {FakeAnswer::framed(message.SerializeAsString())};
    }
    FakeAnswer answer(const std::string& path, const std::string& message) {
        if (const auto found = instead.find(path); found != instead.end())
            if (const auto answer = found->second(message)) return *answer;
        if (path.ends_with("Status")) {
            etcd::StatusResponse status;
            status.set_leader(1);
            return saying(status);
        }
        if (path.ends_with("LeaseGrant")) {
            etcd::LeaseGrantRequest asked;
            asked.ParseFromString(message);
            etcd::LeaseGrantResponse granted;
            granted.set_id(5);
            granted.set_ttl(asked.ttl());
            return saying(granted);
        }
        if (path.ends_with("Txn")) {
            etcd::TxnResponse done;
            done.set_succeeded(true);
            return saying(done);
        }
        if (path.ends_with("Watch")) {
            etcd::WatchResponse created;
            created.set_created(true);
            FakeAnswer answer = saying(created);
            answer.stays_open = true;
            return answer;
        }
        return saying(etcd::RangeResponse());
    }
    EtcdEngineOptions options() const {
        auto options = *parse_etcd_engine("etcd://" + server.address());
        options.connect_within = options.answer_within = 500ms;
        return options;
    }
    static bool asks_for(const std::string& message, const std::string& key) {
        etcd::RangeRequest request;
        return request.ParseFromString(message) && request.key() == key;
    }

    /// Whether the front gives this up and comes back by itself.
    bool leaves_and_returns(Front& front, int times_reachable) {
        return loop.run_until([&] { return front.times_unreachable > 0; }) && front.comes_back_after(times_reachable);
    }

    Loop loop;
    std::uint64_t cluster = 7;
    std::int64_t revision = 10;
    std::map<std::string, std::function<std::optional<FakeAnswer>(const std::string&)>> instead;
    FakeGrpcServer server{
        loop.io, [this](const std::string& path, const std::string& message) { return answer(path, message); }};
};

const std::string range = "/etcdserverpb.KV/Range", txn = "/etcdserverpb.KV/Txn",
                  status = "/etcdserverpb.Maintenance/Status", grant = "/etcdserverpb.Lease/LeaseGrant",
                  watch = "/etcdserverpb.Watch/Watch";

TEST_F(HostileEtcd, is_believed_as_long_as_it_makes_sense) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    EXPECT_TRUE(front.swap({.name = "x", .becomes = 1})->done);
    EXPECT_EQ(front.fetch("y")->value.write, 0u);
}

TEST_F(HostileEtcd, grants_nothing_by_answers_that_make_no_sense) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    const auto refuses = [&](FakeAnswer answer) {
        instead[txn] = [answer](const std::string&) { return answer; };
        const auto swapped = front.swap({.name = "x", .becomes = 1});
        instead.erase(txn);
        return !swapped && swapped.error().code == Code::store_unavailable && !swapped.error().message.empty();
    };
    EXPECT_TRUE(refuses({FakeAnswer::framed("\xff\xff junk")}));
    EXPECT_TRUE(refuses({FakeAnswer::framed("")})) << "of no cluster";
    EXPECT_TRUE(refuses(saying(etcd::TxnResponse()))) << "refused, with nothing to see";
    etcd::TxnResponse wrong_type;
    wrong_type.add_responses()->mutable_response_put();
    wrong_type.add_responses()->mutable_response_put();
    EXPECT_TRUE(refuses(saying(wrong_type)));
    EXPECT_TRUE(refuses({.body = "", .status = "8", .text = "etcdserver: too many requests"}));
    EXPECT_NE(front.last_error.message.find("etcdserver: too many requests"), std::string::npos);
    EXPECT_TRUE(front.reachable) << "none of this is a reason to go elsewhere";
    EXPECT_TRUE(front.swap({.name = "x", .becomes = 2})->done);
}

TEST_F(HostileEtcd, is_not_believed_what_it_says_of_something_else) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    etcd::RangeResponse other;
    etcd::Value value;
    value.set_write(WriteId{9}.bytes());
    value.set_content("of another");
    other.add_kvs()->set_key("holdfast/r/other");
    other.mutable_kvs(0)->set_mod_revision(3);
    other.mutable_kvs(0)->set_value(value.SerializeAsString());
    const FakeAnswer told = saying(other);
    instead[range] = [&](const std::string& message) {
        return asks_for(message, "holdfast/r/x") ? std::optional(told) : std::nullopt;
    };
    const auto reading = front.fetch("x");
    ASSERT_FALSE(reading);
    EXPECT_EQ(reading.error().code, Code::store_unavailable);
}

/// What of the request a value must be like, for the key: all values of one write, and of no other.
bool compares(const etcd::TxnRequest& request, const std::string& key, const std::string& value) {
    int compared = 0;
    for (const etcd::Compare& compare : request.compare()) {
        if (compare.key() != key || compare.target() != etcd::Compare::VALUE) continue;
        ++compared;
        const bool holds =
            compare.result() == etcd::Compare::GREATER ? value > compare.value() : value < compare.value();
        if (!holds) return false;
    }
    return compared > 0;
}

TEST_F(HostileEtcd, that_was_restored_is_asked_for_the_write_and_not_only_for_its_revision) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    const WriteId first{7, ~0ULL};
    ASSERT_TRUE(front.swap({.name = "x", .becomes = first})->done);
    const auto value_of = [](WriteId write) {
        etcd::Value value;
        value.set_write(write.bytes());
        value.set_content("bytes");
        return value.SerializeAsString();
    };
    std::optional<etcd::TxnRequest> asked;
    instead[txn] = [&](const std::string& message) -> std::optional<FakeAnswer> {
        asked.emplace().ParseFromString(message);
        return std::nullopt;
    };
    ASSERT_TRUE(front.swap({.name = "x", .expected = first, .becomes = {7, 1}})->done);
    ASSERT_TRUE(asked.has_value());
    EXPECT_TRUE(compares(*asked, "holdfast/r/x", value_of(first)));
    for (const WriteId other : {WriteId{7, 0}, WriteId{7, ~0ULL - 1}, WriteId{8, 0}, WriteId{6, ~0ULL}})
        EXPECT_FALSE(compares(*asked, "holdfast/r/x", value_of(other)));
}

TEST_F(HostileEtcd, with_values_of_an_older_version_is_refused) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    etcd::RangeResponse older;
    older.add_kvs()->set_key("holdfast/r/x");
    older.mutable_kvs(0)->set_mod_revision(3);
    older.mutable_kvs(0)->set_value(
        "\x08\x09\x12\x05"
        "bytes");  // a number in the place of the write
    instead[range] = [told = saying(older)](const std::string& message) {
        return asks_for(message, "holdfast/r/x") ? std::optional(told) : std::nullopt;
    };
    const auto reading = front.fetch("x");
    ASSERT_FALSE(reading);
    EXPECT_EQ(reading.error().code, Code::store_format);
}

TEST_F(HostileEtcd, whose_revision_goes_back_while_connected_is_not_believed) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    const auto done = front.swap({.name = "x", .becomes = 1});
    EXPECT_EQ(done->position, 10u);
    revision = 9;
    const auto lost = front.swap({.name = "x", .expected = 1, .becomes = 2});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::store_lost) << "though it may have been done";
    EXPECT_NE(lost.error().message.find("from 10 to 9"), std::string::npos) << lost.error().message;
    EXPECT_EQ(front.times_unreachable, 1) << "before the answer";
    ASSERT_TRUE(front.comes_back_after(1));
    EXPECT_EQ(front.history, "etcd-7");
    EXPECT_EQ(front.position, 9u);
    EXPECT_EQ(front.fetch("x")->position, 9u);
}

TEST_F(HostileEtcd, is_left_by_a_look_that_shows_an_earlier_revision) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    revision = 9;
    const auto reading = front.fetch("x");
    ASSERT_FALSE(reading);
    EXPECT_EQ(reading.error().code, Code::store_unavailable);
    EXPECT_TRUE(leaves_and_returns(front, 1));
}

TEST_F(HostileEtcd, is_left_by_a_lease_of_an_earlier_revision) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    std::optional<FakeAnswer> earlier = [&] {
        etcd::LeaseGrantResponse granted;
        granted.mutable_header()->set_revision(9);
        granted.set_id(6);
        granted.set_ttl(1'000'000);
        return saying(granted);
    }();
    instead[grant] = [&](const std::string&) { return std::exchange(earlier, {}); };
    EXPECT_FALSE(front.swap({.name = "x", .becomes = 1, .keep_for = 10h}));
    EXPECT_TRUE(leaves_and_returns(front, 1));
}

TEST_F(HostileEtcd, may_answer_with_the_revision_of_when_it_was_asked) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    int done = 0;
    revision = 11;
    for (const char* name : {"x", "y"})
        front.begin({.name = name, .becomes = 1}, [&](auto swapped) {
            done += swapped && swapped->done;
            revision = 10;  // of the second, which was asked for before the first was answered
        });
    ASSERT_TRUE(loop.run_until([&] { return done == 2; }));
    EXPECT_EQ(front.times_unreachable, 0);
}

TEST_F(HostileEtcd, that_is_another_cluster_all_at_once_is_not_believed) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    ASSERT_TRUE(front.swap({.name = "x", .becomes = 1})->done);
    cluster = 8;
    revision = 20;
    const auto lost = front.swap({.name = "x", .expected = 1, .becomes = 2});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::store_lost);
    ASSERT_TRUE(front.comes_back_after(1));
    EXPECT_EQ(front.history, "etcd-8");
    EXPECT_EQ(front.fetch("x")->value.write, 0u);
}

TEST_F(HostileEtcd, is_not_left_for_another_cluster_as_long_as_it_has_a_member) {
    bool stray_asked = false;
    FakeGrpcServer stray(loop.io, [&](const std::string&, const std::string&) {
        stray_asked = true;
        etcd::StatusResponse greeting;
        greeting.mutable_header()->set_cluster_id(8);
        greeting.mutable_header()->set_revision(10);
        greeting.set_leader(1);
        return FakeAnswer{FakeAnswer::framed(greeting.SerializeAsString())};
    });
    auto both = options();
    both.members.push_back(stray.address());
    Front front(loop, both);
    ASSERT_TRUE(front.becomes_reachable());
    instead[range] = [&](const std::string& message) -> std::optional<FakeAnswer> {
        if (!asks_for(message, "holdfast/r/x") || stray_asked) return std::nullopt;
        return FakeAnswer{.body = "", .status = "14", .text = "etcdserver: request timed out"};
    };
    EXPECT_FALSE(front.fetch("x"));
    EXPECT_NE(front.last_error.message.find("etcdserver: request timed out"), std::string::npos);
    EXPECT_NE(front.why.message.find("etcdserver: request timed out"), std::string::npos);
    ASSERT_TRUE(front.comes_back_after(1));
    EXPECT_TRUE(stray_asked);
    EXPECT_EQ(front.history, "etcd-7");
}

TEST_F(HostileEtcd, is_not_taken_for_ready_while_its_watch_is_behind) {
    bool behind = true;
    instead[watch] = [&](const std::string&) -> std::optional<FakeAnswer> {
        if (!behind) return std::nullopt;
        etcd::WatchResponse created;
        created.set_created(true);
        created.mutable_header()->set_revision(9);
        FakeAnswer answer = saying(created);
        answer.stays_open = true;
        return answer;
    };
    Front front(loop, options());
    ASSERT_TRUE(loop.run_until([&] { return front.times_unreachable > 0; }));
    EXPECT_NE(front.why.message.find("watch is behind"), std::string::npos) << front.why.message;
    EXPECT_EQ(front.times_reachable, 0);
    behind = false;
    EXPECT_TRUE(front.becomes_reachable());
}

etcd::RangeResponse with_marker(WriteId write, std::int64_t revision) {
    etcd::Value value;
    value.set_write(write.bytes());
    value.set_content("marker");
    etcd::RangeResponse response;
    etcd::KeyValue& pair = *response.add_kvs();
    pair.set_key("holdfast/r/" + std::string(cas::marker_name));
    pair.set_mod_revision(revision);
    pair.set_value(value.SerializeAsString());
    return response;
}

TEST_F(HostileEtcd, is_asked_for_the_revision_of_the_marker_and_not_only_for_its_counter) {
    const WriteId marker{7, 3};
    std::int64_t marker_revision = 8;
    instead[range] = [&](const std::string& message) -> std::optional<FakeAnswer> {
        if (!asks_for(message, "holdfast/r/" + std::string(cas::marker_name))) return std::nullopt;
        return saying(with_marker(marker, marker_revision));
    };
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    ASSERT_EQ(front.fetch(cas::marker_name)->value.write, marker);
    std::optional<std::int64_t> above;
    instead[txn] = [&](const std::string& message) -> std::optional<FakeAnswer> {
        etcd::TxnRequest asked;
        asked.ParseFromString(message);
        for (const etcd::Compare& compare : asked.compare())
            if (compare.target() == etcd::Compare::MOD && compare.key().ends_with(cas::marker_name) &&
                compare.result() == etcd::Compare::GREATER)
                above = compare.mod_revision();
        return std::nullopt;
    };
    ASSERT_TRUE(front.swap({.name = "x", .becomes = 1, .marker = marker})->done);
    EXPECT_EQ(above, 7);
    const auto refused = front.swap({.name = "x", .expected = 1, .becomes = 2, .marker = marker, .position = 11});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::store_lost) << "it says 10 only afterwards";
    marker_revision = 6;  // the same counter, raised in a history that went back
    EXPECT_FALSE(front.fetch(cas::marker_name));
    EXPECT_TRUE(leaves_and_returns(front, 1));
    EXPECT_EQ(front.fetch(cas::marker_name)->value.write, marker);
}

TEST_F(HostileEtcd, that_refuses_a_swap_for_an_older_write_is_in_another_history) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    ASSERT_TRUE(front.swap({.name = "x", .becomes = 1})->done);
    etcd::Value older;
    older.set_write(WriteId{9}.bytes());
    older.set_content("older");
    etcd::TxnResponse refused;
    etcd::KeyValue& pair = *refused.add_responses()->mutable_response_range()->add_kvs();
    pair.set_key("holdfast/r/x");
    pair.set_mod_revision(9);
    pair.set_value(older.SerializeAsString());
    refused.add_responses()->mutable_response_range()->add_kvs()->set_key("holdfast/connection/of-this");
    std::optional<FakeAnswer> answer = saying(refused);
    instead[txn] = [&](const std::string&) { return std::exchange(answer, {}); };
    const auto swapped = front.swap({.name = "x", .expected = 1, .becomes = 2});
    ASSERT_FALSE(swapped);
    EXPECT_EQ(swapped.error().code, Code::store_lost);
    EXPECT_NE(swapped.error().message.find("older write"), std::string::npos) << swapped.error().message;
    EXPECT_TRUE(leaves_and_returns(front, 1));
}

TEST_F(HostileEtcd, is_left_while_it_has_no_leader) {
    bool leader = false;
    instead[status] = [&](const std::string&) -> std::optional<FakeAnswer> {
        if (leader) return std::nullopt;
        return saying(etcd::StatusResponse());
    };
    Front front(loop, options());
    ASSERT_TRUE(loop.run_until([&] { return front.times_unreachable > 0; }));
    EXPECT_NE(front.why.message.find("no leader"), std::string::npos) << front.why.message;
    leader = true;
    EXPECT_TRUE(front.becomes_reachable());
}

TEST_F(HostileEtcd, is_left_if_its_leases_are_too_short_to_keep_a_record) {
    instead[grant] = [this](const std::string&) {
        etcd::LeaseGrantResponse granted;
        granted.set_id(5);
        granted.set_ttl(1);
        return saying(granted);
    };
    Front front(loop, options());
    ASSERT_TRUE(loop.run_until([&] { return front.times_unreachable > 0; }));
    EXPECT_NE(front.why.message.find("shorter leases"), std::string::npos) << front.why.message;
}

TEST_F(HostileEtcd, is_left_if_its_watch_makes_no_sense) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    instead[watch] = [](const std::string&) { return FakeAnswer{FakeAnswer::framed("junk \xff")}; };
    instead[range] = [](const std::string&) { return FakeAnswer{.body = "", .silent = true}; };
    ASSERT_TRUE(loop.run_until([&] { return !front.reachable; }));
    instead.erase(range);
    ASSERT_TRUE(loop.run_until(
        [&] { return front.engine().status().find("malformed message of the watch") != std::string::npos; }));
    instead.erase(watch);
    EXPECT_TRUE(front.becomes_reachable());
}

}  // namespace
}  // namespace holdfast::store::etcd
