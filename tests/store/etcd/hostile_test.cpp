#include <boost/asio/write.hpp>

#include "etcd.pb.h"
#include "etcd_fixture.h"
#include "fake_grpc_server.h"

namespace holdfast {
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
    static FakeAnswer saying(Message message) {
        message.mutable_header()->set_cluster_id(7);
        if (message.header().revision() == 0) message.mutable_header()->set_revision(10);
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

    Loop loop;
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
    EXPECT_EQ(front.fetch("y")->kept.write, 0u);
}

TEST_F(HostileEtcd, grants_nothing_by_answers_that_make_no_sense) {
    Front front(loop, options());
    ASSERT_TRUE(front.becomes_reachable());
    const auto refuses = [&](FakeAnswer answer) {
        instead[txn] = [answer](const std::string&) { return answer; };
        const auto swapped = front.swap({.name = "x", .becomes = 1});
        instead.erase(txn);
        return !swapped && swapped.error().code == "store_unavailable" && !swapped.error().message.empty();
    };
    EXPECT_TRUE(refuses({FakeAnswer::framed("\xff\xff junk")}));
    EXPECT_TRUE(refuses({FakeAnswer::framed("")})) << "of no cluster";
    EXPECT_TRUE(refuses(saying(etcd::TxnResponse()))) << "refused, with nothing to see";
    etcd::TxnResponse wrong_type;
    wrong_type.add_responses()->mutable_response_put();
    wrong_type.add_responses()->mutable_response_put();
    EXPECT_TRUE(refuses(saying(wrong_type)));
    EXPECT_TRUE(refuses({.body = "", .status = "8", .text = "etcdserver: too many requests"}));
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
    EXPECT_EQ(reading.error().code, "store_unavailable");
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
    EXPECT_EQ(reading.error().code, "store_format");
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
    instead[grant] = [](const std::string&) {
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
    ASSERT_TRUE(loop.run_until([&] {
        return front.engine().status().find("what the watch tells cannot be understood") != std::string::npos;
    }));
    instead.erase(watch);
    EXPECT_TRUE(front.becomes_reachable());
}

}  // namespace
}  // namespace holdfast
