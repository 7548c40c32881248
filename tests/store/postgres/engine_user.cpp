#include "store/postgres/engine_user.h"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>

namespace holdfast::store::postgres {

EngineUser::EngineUser(const std::string& url, const Change& change, std::shared_ptr<boost::asio::io_context> loop)
    : loop_(std::move(loop)) {
    static std::atomic<std::uint64_t> users{0};
    last_write_ = ++users << 40;
    auto options = parse_postgres_engine(url);
    if (!options) throw std::runtime_error(options.error().message);
    options->answer_within = 20s;  // nothing is the matter with it unless a test says so: the machine may be busy
    if (change) change(*options);
    engine_ = make_postgres_engine(*loop_, *options);
    engine_->start(*this);
}

EngineUser::~EngineUser() {
    engine_->stop();
}

bool EngineUser::until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    loop_->restart();
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        loop_->run_one_for(100ms);
    }
    return true;
}

void EngineUser::run_for(Duration time) {
    loop_->restart();
    loop_->run_for(time);
}

Result<cas::Reading> EngineUser::fetch(const std::string& name, cas::Kind kind) {
    return answer<cas::Reading>([&](auto reply) { engine_->fetch(kind, name, std::move(reply)); });
}

Result<cas::Swapped> EngineUser::swap(const cas::Swap& swap) {
    return answer<cas::Swapped>([&](auto reply) { engine_->swap(swap, std::move(reply)); });
}

Result<cas::FoundRecords> EngineUser::overlapping(const std::string& name, std::size_t most) {
    return answer<cas::FoundRecords>([&](auto reply) { engine_->overlapping(name, most, std::move(reply)); });
}

Result<cas::FoundRecords> EngineUser::of_holder(const std::string& holder, std::size_t most) {
    return answer<cas::FoundRecords>([&](auto reply) { engine_->of_holder(holder, most, std::move(reply)); });
}

Result<cas::Page> EngineUser::scan(const std::string& prefix, const std::string& after, std::size_t most,
                                   cas::Kind kind) {
    return answer<cas::Page>([&](auto reply) { engine_->scan(kind, prefix, after, most, std::move(reply)); });
}

Result<std::vector<std::string>> EngineUser::overdue() {
    auto names = answer<std::vector<std::string>>([&](auto reply) { engine_->overdue(100, std::move(reply)); });
    EXPECT_TRUE(names) << names.error().message;
    return names;
}

cas::WriteId EngineUser::write(const std::string& name, const std::string& bytes, cas::WriteId expected) {
    const cas::WriteId becomes = next_write();
    const auto swapped = swap(swap_of(name, expected, becomes, bytes));
    EXPECT_TRUE(swapped) << swapped.error().message;
    EXPECT_TRUE(swapped && swapped->done) << name;
    return becomes;
}

void EngineUser::on_reachable(const cas::EngineHello& said) {
    reachable = true;
    ++times_reachable;
    hello = said;
}

void EngineUser::on_unreachable(const Error& error) {
    reachable = false;
    why = error.message;
    EXPECT_EQ(error.code, Code::store_unavailable);
}

cas::Swap swap_of(std::string_view name, cas::WriteId expected, cas::WriteId becomes, std::string_view bytes) {
    cas::Swap swap;
    swap.name = name;
    swap.expected = expected;
    swap.becomes = becomes;
    swap.bytes = bytes;
    return swap;
}

PostgresProcess& shared_postgres() {
    static PostgresProcess server;
    return server;
}

std::string fresh_schema() {
    static int number = 0;
    return "test_" + std::to_string(++number);
}

std::string fresh_url(const std::string& query) {
    return shared_postgres().url("?schema=" + fresh_schema() + query);
}

}  // namespace holdfast::store::postgres
