#include "discovery/relay/relay_fixture.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <prometheus/registry.h>
#include <thread>

#include "codec/frame.h"
#include "store/memory/memory_store.h"

namespace holdfast::discovery::relay {
namespace {

/// Says that everything is on disk.
class QuickDurable final : public store::Durable {
 public:
    void reserve_tokens(lease::Token, Callback<Result<void>> done) override { done({}); }
    void submit(store::Change, std::optional<store::AuditEntry>, Callback<Result<void>> done) override { done({}); }
};

constexpr std::int64_t wall_ms = 1'763'208'000'000;

}  // namespace

// ---- the relay ----

struct TestRelay::Behind {
    Behind()
        : authority({.durable = durable,
                     .policy = {},
                     .tokens_issued = 0,
                     .wall_ms = wall_ms,
                     .started_at = now,
                     .recovering_until = Instant{}}),
          store(authority.listener(), HashKey{1, 2}) {
        authority.use(store);
        tell_time();
        directory.emplace(directory::Directory::Parts{.authority = authority,
                                                      .relay = 77,
                                                      .wall_ms = wall_ms,
                                                      .started_at = now,
                                                      .seed = 5,
                                                      .withdraw =
                                                          [this](const directory::Withdrawal& withdrawal) {
                                                              if (door) door->withdraw(withdrawal);
                                                          },
                                                      .may_retry =
                                                          [this](const directory::RetryNotice& notice) {
                                                              if (door) door->may_retry(notice);
                                                          }});
        tell_time();
    }

    void tell_time() {
        while (store.advance(now)) {
        }
        authority.advance(now);
        if (directory) directory->advance(now);
    }

    boost::asio::io_context context{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
    std::thread thread;
    QuickDurable durable;
    Instant now{1000s};
    authority::Authority authority;
    store::memory::MemoryStore store;
    std::optional<directory::Directory> directory;
    prometheus::Registry registry;
    std::unique_ptr<RelayDoor> door;
    std::function<void(std::size_t)> after_turn = [](std::size_t) {};
};

TestRelay::TestRelay(RelayDoorOptions options) : behind_(std::make_unique<Behind>()) {
    options.address = "127.0.0.1:0";
    behind_->door = std::make_unique<RelayDoor>(
        behind_->context, *behind_->directory, behind_->registry, std::move(options),
        net::DoorTurn{[this] { behind_->tell_time(); },
                      [this] { behind_->after_turn(behind_->directory->counts().connected); }});
    const auto address = behind_->door->listen();
    if (address) port_ = std::stoi(address->substr(address->rfind(':') + 1));
    EXPECT_TRUE(address);
    behind_->thread = std::thread([this] { behind_->context.run(); });
}

TestRelay::~TestRelay() {
    run([this] { behind_->door.reset(); });
    behind_->work.reset();
    behind_->context.stop();
    behind_->thread.join();
}

void TestRelay::run(const std::function<void()>& function) {
    std::promise<void> done;
    boost::asio::post(behind_->context, [&] {
        function();
        done.set_value();
    });
    if (done.get_future().wait_for(patience) != std::future_status::ready) std::abort();
}

RelayDoor::Counts TestRelay::counts() {
    RelayDoor::Counts counts;
    run([&] { counts = behind_->door->counts(); });
    return counts;
}

void TestRelay::wait_until(const std::function<bool(const RelayDoor::Counts&)>& condition) {
    const auto give_up_at = std::chrono::steady_clock::now() + patience;
    bool met = false;
    while (!met && std::chrono::steady_clock::now() < give_up_at) {
        met = condition(counts());
        if (!met) std::this_thread::yield();
    }
    EXPECT_TRUE(met) << "what was waited for never came";
}

void TestRelay::stop() {
    std::promise<void> done;
    boost::asio::post(behind_->context, [&] {
        behind_->authority.stop();
        behind_->door->stop([&] { done.set_value(); });
    });
    if (done.get_future().wait_for(patience) != std::future_status::ready) std::abort();
}

void TestRelay::after_each_turn(std::function<void(std::size_t)> function) {
    run([&] { behind_->after_turn = std::move(function); });
}

void TestRelay::ban(const std::string& whom) {
    bool banned = false;
    run([&] {
        behind_->authority.ban(whom, lease::Ban{}, [&](const authority::Answer<lease::Ban>& answer) {
            banned = std::holds_alternative<lease::Ban>(answer);
        });
    });
    EXPECT_TRUE(banned);
}

std::size_t TestRelay::connected_services() {
    std::size_t connected = 0;
    run([&] { connected = behind_->directory->counts().connected; });
    return connected;
}

std::size_t TestRelay::active_leases() {
    std::size_t active = 0;
    run([&] { active = behind_->authority.active_leases(); });
    return active;
}

// ---- those who speak to it ----

void TestFrames::send(const Message& message) {
    std::string bytes;
    append_frame(message, bytes);
    socket_.send(bytes);
}

std::optional<Message> TestFrames::receive() {
    std::string bytes = socket_.receive(codec::frame_header_bytes);
    if (bytes.size() < codec::frame_header_bytes) return std::nullopt;
    std::size_t length = 0;
    for (const char byte : bytes)
        length = length << 8 | static_cast<unsigned char>(byte);
    auto message = decode(socket_.receive(length));
    if (!message) return std::nullopt;
    return std::move(*message);
}

TestPublisher::TestPublisher(TestRelay& relay) : relay_(relay), frames_(TestSocket::connect(relay.port())) {
    frames_.send(PublisherHello{});
    hello_ = frames_.expect<RelayHello>();
}

SignedUpdate TestPublisher::signed_update(Update update) {
    update.relay = hello_.relay;
    update.time_ms = hello_.time_ms;
    update.nonce = ++nonce_;
    const std::string request = encode(update);
    return {request, identity_.public_key(), identity_.sign(identity::update_purpose, request),
            static_cast<std::uint32_t>(nonce_)};
}

std::uint64_t TestPublisher::advertise(const std::string& name) {
    frames_.send(signed_update({.action = Action::enter, .name = name}));
    const auto response = frames_.expect<UpdateResponse>();
    EXPECT_EQ(response.refused, std::nullopt) << response.message;
    EXPECT_EQ(response.number, nonce_);
    return response.token;
}

UpdateResponse TestPublisher::renew(const std::string& name, std::uint64_t token) {
    frames_.send(signed_update({.action = Action::renew, .name = name, .token = token}));
    return frames_.expect<UpdateResponse>();
}

TestSocket TestPublisher::accept(const StreamOffer& offer) {
    TestFrames data = use_ticket(relay_, offer.ticket);
    (void)data.expect<StreamOpened>();
    return std::move(data.socket());
}

TestFrames ask_for(TestRelay& relay, const std::string& name, std::string_view early) {
    TestFrames frames(TestSocket::connect(relay.port()));
    std::string bytes;
    append_frame(StreamRequest{.name = name}, bytes);
    bytes += early;
    frames.socket().send(bytes);
    return frames;
}

TestFrames use_ticket(TestRelay& relay, const std::string& ticket) {
    TestFrames frames(TestSocket::connect(relay.port()));
    frames.send(StreamAccept{.ticket = ticket});
    return frames;
}

std::string refusal(TestFrames& frames) {
    return std::string(frames.expect<StreamFailed>().code.name());
}

OpenStream open_stream(TestRelay& relay, TestPublisher& publisher, const std::string& name) {
    TestFrames consumer = ask_for(relay, name);
    TestSocket data = publisher.accept(publisher.offer());
    (void)consumer.expect<StreamOpened>();
    return {std::move(consumer.socket()), std::move(data)};
}

}  // namespace holdfast::discovery::relay
