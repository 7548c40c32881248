#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"
#include "doors/http/event_stream.h"

namespace holdfast::doors::http {
namespace {

TestClient stream(TestDoor& door, const std::string& query = {}, const std::string& last_event_id = {}) {
    TestClient client = door.connect();
    const std::string header = last_event_id.empty() ? "" : "Last-Event-ID: " + last_event_id + "\r\n";
    client.send(request_text("GET", "/v1/events" + query, {}, header));
    const Answer head = client.read_head();
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.headers.at("content-type"), "text/event-stream");
    return client;
}

Answer data_of(const StreamEvent& event) {
    Answer answer;
    answer.body = event.data;
    return answer;
}

TEST(EventStream, tells_what_happens_as_it_happens) {
    TestDoor door;
    TestClient events = stream(door);
    TestClient client = door.connect();
    const std::string released = take(client, "FILE:/a", "alice");
    client.ask("DELETE", lease_path(released) + "?holder=alice");
    const std::string revoked = take(client, "b", "alice", R"(,"namespace":"ns")");
    client.ask("POST", lease_path(revoked, "revoke"));
    const std::string expired = take(client, "c", "alice", R"(,"ttl_ms":1000)");
    door.advance(2s);
    const auto expect = [&](const char* type, const std::string& id) {
        const StreamEvent event = read_real_event(events);
        EXPECT_EQ(event.type, type);
        EXPECT_EQ(data_of(event).text("/type"), type);
        EXPECT_EQ(data_of(event).text("/lease"), id);
        EXPECT_EQ(data_of(event).text("/holder"), "alice");
        EXPECT_EQ(data_of(event).text("/predicate"), "MUTATES");
        EXPECT_TRUE(data_of(event).text("/at").ends_with("Z"));
        return event;
    };
    const StreamEvent first = expect("granted", released);
    EXPECT_EQ(data_of(first).text("/resource"), "FILE:/a");
    EXPECT_EQ(data_of(first).text("/namespace"), "default");
    EXPECT_EQ("FILE:/a#" + std::to_string(data_of(first).number("/token")), released);
    EXPECT_TRUE(first.id.ends_with("-1"));
    expect("released", released);
    EXPECT_EQ(data_of(expect("granted", revoked)).text("/namespace"), "ns");
    expect("revoked", revoked);
    expect("granted", expired);
    expect("expired", expired);
}

TEST(EventStream, tells_renewals_only_to_those_who_ask) {
    TestDoor door;
    TestClient with = stream(door, "?renewed=true"), without = stream(door, "?renewed=false");
    TestClient client = door.connect();
    const std::string id = take(client, "r", "alice");
    client.ask("POST", lease_path(id, "heartbeat"), R"({"holder":"alice"})");
    client.ask("DELETE", lease_path(id) + "?holder=alice");
    EXPECT_EQ(read_real_event(with).type, "granted");
    const StreamEvent renewed = read_real_event(with);
    EXPECT_EQ(renewed.type, "renewed");
    EXPECT_EQ(renewed.id, "");
    EXPECT_EQ(read_real_event(with).type, "released");
    EXPECT_EQ(read_real_event(without).type, "granted");
    EXPECT_EQ(read_real_event(without).type, "released");
}

TEST(EventStream, carries_what_the_filters_leave) {
    TestDoor door;
    TestClient by_holder = stream(door, "?holder=bob"), by_prefix = stream(door, "?prefix=job/"),
               by_namespace = stream(door, "?namespace=ns");
    TestClient client = door.connect();
    take(client, "x", "alice");
    take(client, "job/1", "alice");
    take(client, "y", "bob");
    take(client, "job/2", "alice", R"(,"namespace":"ns")");
    EXPECT_EQ(data_of(read_real_event(by_holder)).text("/resource"), "y");
    EXPECT_EQ(data_of(read_real_event(by_prefix)).text("/resource"), "job/1");
    EXPECT_EQ(data_of(read_real_event(by_prefix)).text("/resource"), "job/2");
    EXPECT_EQ(data_of(read_real_event(by_namespace)).text("/resource"), "job/2");
}

TEST(EventStream, goes_on_where_the_client_left) {
    TestDoor door;
    TestClient client = door.connect();
    TestClient before = stream(door);
    take(client, "a", "alice");
    const std::string last = read_real_event(before).id;
    before.close();
    take(client, "b", "alice");
    take(client, "c", "bob");
    TestClient after = stream(door, "", last);
    EXPECT_EQ(data_of(read_real_event(after)).text("/resource"), "b");
    EXPECT_EQ(data_of(read_real_event(after)).text("/resource"), "c");
    take(client, "d", "alice");
    EXPECT_EQ(data_of(read_real_event(after)).text("/resource"), "d");
    TestClient filtered = stream(door, "?holder=bob", last);
    EXPECT_EQ(data_of(read_real_event(filtered)).text("/resource"), "c");
}

TEST(EventStream, can_be_taken_up_again_before_its_first_event) {
    TestDoor door;
    TestClient client = door.connect();
    take(client, "old", "alice");
    TestClient before = stream(door);
    const StreamEvent opening = read_event(before);
    EXPECT_TRUE(opening.id.ends_with("-1"));
    EXPECT_EQ(opening.type, "");
    EXPECT_EQ(opening.data, "");
    before.close();
    take(client, "new", "alice");
    TestClient after = stream(door, "", opening.id);
    EXPECT_EQ(data_of(read_real_event(after)).text("/resource"), "new");
}

TEST(EventStream, says_if_some_were_missed) {
    TestDoor door;
    TestClient client = door.connect();
    TestClient before = stream(door);
    const std::string epoch_and_zero = read_event(before).id;
    before.close();
    for (int i = 0; i < 5001; ++i) {
        const std::string id = take(client, "r", "alice");
        client.ask("DELETE", lease_path(id) + "?holder=alice");
    }
    TestClient late = stream(door, "", epoch_and_zero);
    const StreamEvent missed = read_real_event(late);
    EXPECT_EQ(missed.type, "missed");
    EXPECT_EQ(data_of(missed).text("/type"), "missed");
    EXPECT_TRUE(missed.id.ends_with("-10002")) << missed.id;
    const std::string id = take(client, "next", "bob");
    EXPECT_EQ(data_of(read_real_event(late)).text("/lease"), id);
    TestClient again = stream(door, "", missed.id);
    EXPECT_EQ(data_of(read_real_event(again)).text("/lease"), id) << "its id is a place to go on from";
    TestClient restarted = stream(door, "", "00000000-5");
    EXPECT_EQ(read_real_event(restarted).type, "missed");
    TestClient garbled = stream(door, "", "nonsense");
    EXPECT_EQ(read_real_event(garbled).type, "missed");
    TestClient ahead = stream(door, "", epoch_and_zero.substr(0, 9) + "99999999");
    EXPECT_EQ(read_real_event(ahead).type, "missed");
}

TEST(EventStream, catches_up_on_more_than_fits_into_memory_at_once) {
    TestDoor door;
    TestClient client = door.connect();
    TestClient before = stream(door);
    const std::string start = read_event(before).id;
    before.close();
    const std::string name(3000, 'n');
    for (int i = 0; i < 1000; ++i)
        take(client, name + std::to_string(i), "alice");
    TestClient after = stream(door, "", start);
    take(client, "live", "alice");
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(data_of(read_real_event(after)).text("/resource"), name + std::to_string(i));
    EXPECT_EQ(data_of(read_real_event(after)).text("/resource"), "live");
}

TEST(EventStream, that_is_not_read_is_dropped_and_harms_nobody) {
    TestDoor door;
    TestClient slow = door.connect(4096);
    slow.send(request_text("GET", "/v1/events"));
    EXPECT_EQ(slow.read_head().status, 200);
    TestClient client = door.connect();
    const std::string name(4000, 'n');
    std::string text;
    int taken = 0;
    do {
        for (int i = 0; i < 100; ++i)
            take(client, name + std::to_string(taken++), "alice");
        text = client.ask("GET", "/metrics").body;
    } while (text.find("holdfast_connections 1\n") == std::string::npos && taken < 20'000);
    EXPECT_NE(text.find("holdfast_connections 1\n"), std::string::npos) << "still connected after " << taken;
    EXPECT_FALSE(slow.read_to_end().empty());
}

/// How often the door has looked at its timer, and at its buffers.
std::string looks(TestClient& client) {
    const std::string text = client.ask("GET", "/metrics").body;
    const std::size_t begin = text.find("holdfast_loop_delay_seconds_count");
    return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(EventStream, that_falls_behind_is_fed_from_the_kept_events_until_it_is_live_again) {
    TestDoor door;
    door.run([&] {
        EventStream stream(door.authority(), "e", {});
        EventFilter renewals;
        renewals.renewed = true;
        EventStream with_renewals(door.authority(), "e", renewals);
        stream.start({});
        with_renewals.start({});
        EXPECT_FALSE(with_renewals.fall_behind()) << "renewals are not kept";
        EXPECT_TRUE(stream.fall_behind());
        for (const char* name : {"a", "b", "c"}) {
            authority::AcquireRequest request;
            request.holder = "alice";
            request.intents = {{name, lease::Predicate::mutates}};
            door.authority().acquire(std::move(request), [](const authority::AcquireAnswer&) {});
        }
        std::string last;
        const auto name_of = [&](const authority::Event& event) -> const std::string& {
            EXPECT_FALSE(stream.wants(event)) << "it would be told twice";
            return last = event.resource;
        };
        EXPECT_EQ(stream.pull(2, name_of), "ab");
        EXPECT_TRUE(stream.has_fallen_behind());
        EXPECT_EQ(stream.pull(2, name_of), "c");
        EXPECT_TRUE(stream.is_live());
    });
}

TEST(EventStream, that_is_read_late_has_everything_in_order) {
    DoorSetting setting;
    setting.options.max_buffer_bytes = 4 * 1024 * 1024;
    TestDoor door(std::move(setting));
    std::vector<TestClient> late;
    for (int i = 0; i < 16; ++i) {
        late.push_back(door.connect(4096));
        late.back().send(request_text("GET", "/v1/events"));
        EXPECT_EQ(late.back().read_head().status, 200);
    }
    const auto name = [](int i) { return std::string(400, 'n') + std::to_string(i); };
    door.run([&] {
        for (int i = 0; i < 900; ++i) {  // nearly a mebibyte for each
            authority::AcquireRequest request;
            request.holder = "alice";
            request.intents = {{name(i), lease::Predicate::mutates}};
            door.authority().acquire(std::move(request), [](const authority::AcquireAnswer&) {});
        }
    });
    TestClient client = door.connect();
    for (int i = 0; i < 2; ++i)
        for (const std::string before = looks(client); looks(client) == before;)
            continue;
    take(client, "live", "alice");
    for (TestClient& stream : late) {
        for (int i = 0; i < 900; ++i)
            ASSERT_EQ(data_of(read_real_event(stream)).text("/resource"), name(i));
        EXPECT_EQ(data_of(read_real_event(stream)).text("/resource"), "live");
    }
}

TEST(EventStream, ends_when_the_client_ends_its_half) {
    TestDoor door;
    TestClient events = stream(door);
    events.end_sending();
    events.read_to_end();
    TestClient client = door.connect();
    take(client, "r", "alice");
    EXPECT_EQ(client.ask("GET", "/health").status, 200);
}

TEST(EventStream, pays_no_attention_to_what_is_sent_on_it) {
    TestDoor door;
    TestClient events = stream(door);
    for (int i = 0; i < 100; ++i)
        events.send(std::string(10'000, 'x'));
    TestClient client = door.connect();
    take(client, "r", "alice");
    EXPECT_EQ(read_real_event(events).type, "granted");
}

}  // namespace
}  // namespace holdfast::doors::http
