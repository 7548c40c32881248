#include "doors/http/door_fixture.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <prometheus/registry.h>
#include <thread>

#include "base/text.h"

namespace holdfast::doors::http {
namespace {

constexpr std::int64_t wall_ms_at_start = 1'763'208'000'000;
constexpr auto patience = 30s;

Result<void> outcome(bool fails) {
    if (fails) return Error{Code::storage_failed, "the test's disk refuses"};
    return {};
}

}  // namespace

void TestDurable::reserve_tokens(lease::Token, Callback<Result<void>> done) {
    done(outcome(fails));
}

void TestDurable::submit(store::Change, std::optional<store::AuditEntry> audit, Callback<Result<void>> done) {
    if (audit && !fails) audited.push_back(std::move(*audit));
    done(outcome(fails));
}

store::AuditPage TestDurable::audit(std::uint64_t after, std::size_t limit) const {
    store::AuditPage page;
    for (std::uint64_t i = after; i < audited.size() && page.lines.size() < limit; ++i)
        page.lines.push_back({i + 1, audited[i]});
    page.more = after + page.lines.size() < audited.size();
    return page;
}

struct TestDoor::Loop {
    boost::asio::io_context context{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
    prometheus::Registry registry;
    std::thread thread;
};

TestDoor::TestDoor(DoorSetting setting) : loop_(std::make_unique<Loop>()), now_(Instant{} + 1h) {
    durable_.fails = setting.tokens_fail;
    authority::Authority::Parts parts{.durable = durable_, .policy = {}};
    parts.policy.ttl_min = 1ms;
    parts.wall_ms = wall_ms_at_start;
    parts.started_at = now_;
    parts.tokens_issued = setting.tokens_issued;
    parts.recovering_until = now_ + setting.recovering;
    authority_ = std::make_unique<authority::Authority>(std::move(parts));
    store_ = std::make_unique<store::memory::MemoryStore>(authority_->listener(), HashKey{1, 2});
    authority_->use(*store_);
    tell_time();
    durable_.fails = false;
    controller_ = std::make_unique<keys::controller::Controller>(
        keys::controller::Controller::Parts{*authority_, "life-of-the-test", 1});
    directory_ = std::make_unique<discovery::directory::Directory>(discovery::directory::Directory::Parts{
        .authority = *authority_, .relay = 0xfeed, .wall_ms = wall_ms_at_start, .started_at = now_, .seed = 1});
    directory_->advance(now_);
    const HttpDoorServices behind{*authority_, *controller_, *directory_};
    door_ = std::make_unique<HttpDoor>(loop_->context, behind, loop_->registry, setting.options,
                                       net::DoorTurn{[this] { tell_time(); }, [] {}});
    auto address = door_->listen();
    if (!address) throw std::runtime_error(address.error().message);
    port_ = static_cast<int>(*parse_number(address->substr(address->rfind(':') + 1)));
    loop_->thread = std::thread([this] { loop_->context.run(); });
}

TestDoor::~TestDoor() {
    run([this] { door_.reset(); });
    loop_->work.reset();
    loop_->context.stop();
    loop_->thread.join();
}

void TestDoor::tell_time() {
    while (store_->advance(now_)) {
    }
    authority_->advance(now_);
    if (controller_) controller_->advance(now_);
    if (directory_) directory_->advance(now_);
}

void TestDoor::run(const std::function<void()>& function) {
    std::promise<void> done;
    boost::asio::post(loop_->context, [&] {
        function();
        done.set_value();
    });
    done.get_future().get();
}

void TestDoor::advance(Duration by) {
    run([&] {
        now_ += by;
        tell_time();
    });
}

void TestDoor::wait_until(const std::function<bool()>& condition) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    bool met = false;
    while (!met) {
        run([&] { met = condition(); });
        if (std::chrono::steady_clock::now() > limit) throw std::runtime_error("what was waited for never came");
        std::this_thread::yield();
    }
}

void TestDoor::wait_for_waiters(std::size_t count) {
    wait_until([&] { return authority_->waiters() == count; });
}

void TestDoor::stop() {
    std::promise<void> stopped;
    boost::asio::post(loop_->context, [&] { door_->stop([&] { stopped.set_value(); }); });
    ASSERT_EQ(stopped.get_future().wait_for(patience), std::future_status::ready);
}

std::string TestDoor::metrics_text() {
    TestClient client = connect();
    return client.ask("GET", "/metrics").body;
}

std::string health_request() {
    return request_text("GET", "/health");
}

std::string acquire_request(const std::string& holder, const std::string& resource, int wait_ms) {
    return request_text(
        "POST", "/v1/leases",
        R"({"holder":")" + holder + R"(","resource":")" + resource + R"(","wait_ms":)" + std::to_string(wait_ms) + "}");
}

Answer ask_for(TestClient& client, const std::string& resource, const std::string& holder, const std::string& more) {
    return client.ask("POST", "/v1/leases",
                      R"({"holder":")" + holder + R"(","resource":")" + resource + '"' + more + "}");
}

std::string take(TestClient& client, const std::string& resource, const std::string& holder, const std::string& more) {
    const Answer answer = ask_for(client, resource, holder, more);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.status == 201 ? answer.text("/leases/0/id") : "";
}

void register_agent(TestClient& client, const std::string& id, std::int64_t priority, int epoch) {
    const Answer answer =
        client.ask("PUT", "/v1/agents/" + percent_encode(id),
                   R"({"priority":)" + std::to_string(priority) + R"(,"epoch":)" + std::to_string(epoch) + "}");
    EXPECT_LT(answer.status, 300) << answer.body;
}

std::string lease_path(const std::string& id, const std::string& verb) {
    return "/v1/leases/" + percent_encode(id) + (verb.empty() ? "" : "/" + verb);
}

}  // namespace holdfast::doors::http
