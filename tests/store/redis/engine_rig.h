#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/redis/redis_engine.h"

namespace holdfast::store::redis {

using cas::EngineTime;
using cas::Kind;
using cas::WriteId;

/// A swap that says all of what it writes.
struct Write {
    std::string name;
    WriteId expected = 0;
    WriteId becomes = 0;
    std::string bytes = "bytes";
    std::vector<std::string> holders{};
    EngineTime from = EngineTime::min();
    EngineTime until = EngineTime::max();
    EngineTime written_at{};
    EngineTime keep_until = EngineTime::max();
    EngineTime due = EngineTime::max();
    std::string notice{};
    Kind kind = Kind::record;
    WriteId marker{};
    cas::Position position = 0;
};

/// One front's engine, with what it tells. Several may share a loop; calls wait for their answers.
class EngineRig final : public cas::EngineListener {
 public:
    explicit EngineRig(const std::string& url, const std::function<void(RedisEngineOptions&)>& change = {},
                       std::shared_ptr<boost::asio::io_context> loop = std::make_shared<boost::asio::io_context>())
        : loop_(std::move(loop)) {
        auto options = parse_redis_engine(url);
        if (!options) throw std::runtime_error(options.error().message);
        options->answer_within = 20s;  // nothing is the matter with it unless a test says so: the machine may be busy
        if (change) change(*options);
        engine_ = make_redis_engine(*loop_, *options);
        engine_->start(*this);
    }
    ~EngineRig() override { engine_->stop(); }

    cas::Engine& engine() { return *engine_; }
    const std::shared_ptr<boost::asio::io_context>& loop() { return loop_; }

    /// Runs the loop until it holds; false if that takes longer than a minute.
    bool until(const std::function<bool()>& condition) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > end) return false;
            loop_->restart();
            loop_->run_one_for(std::chrono::milliseconds(100));
        }
        return true;
    }
    bool up() {
        return until([&] { return reachable; });
    }
    bool down() {
        return until([&] { return !reachable && told > 0; });
    }

    template <class Value>
    Result<Value> wait(const std::function<void(Callback<Result<Value>>)>& ask) {
        auto got = std::make_shared<std::optional<Result<Value>>>();
        ask([got](Result<Value> result) { *got = std::move(result); });
        EXPECT_FALSE(got->has_value()) << "answered from within the call";
        if (!until([&] { return got->has_value(); })) return Error{Code::no_answer, "no answer within a minute"};
        return std::move(**got);
    }
    Result<cas::Reading> fetch(const std::string& name, Kind kind = Kind::record) {
        return wait<cas::Reading>([&](auto reply) { engine_->fetch(kind, name, std::move(reply)); });
    }
    Result<cas::Swapped> swap(const Write& write) {
        return wait<cas::Swapped>([&](auto reply) { start_swap(write, std::move(reply)); });
    }
    Result<cas::FoundRecords> overlapping(const std::string& name, std::size_t most = 100) {
        return wait<cas::FoundRecords>([&](auto reply) { engine_->overlapping(name, most, std::move(reply)); });
    }
    Result<cas::FoundRecords> of_holder(const std::string& holder, std::size_t most = 100) {
        return wait<cas::FoundRecords>([&](auto reply) { engine_->of_holder(holder, most, std::move(reply)); });
    }
    Result<cas::Page> scan(Kind kind, const std::string& prefix, const std::string& after, std::size_t most) {
        return wait<cas::Page>([&](auto reply) { engine_->scan(kind, prefix, after, most, std::move(reply)); });
    }
    Result<std::vector<std::string>> overdue(std::size_t most = 100) {
        return wait<std::vector<std::string>>([&](auto reply) { engine_->overdue(most, std::move(reply)); });
    }
    void start_swap(const Write& write, Callback<Result<cas::Swapped>> reply) {
        const Write& replaced = written[{write.name, write.expected}];
        const auto holders = in_order(write.holders), held_by = in_order(replaced.holders);
        cas::Swap swap;
        swap.kind = write.kind;
        swap.name = write.name;
        swap.expected = write.expected;
        swap.becomes = write.becomes;
        swap.from = write.from;
        swap.until = write.until;
        swap.written_at = write.written_at;
        swap.bytes = write.bytes;
        swap.keep_until = write.keep_until;
        swap.due = write.due;
        swap.holders = holders;
        swap.replaced = {replaced.keep_until, replaced.due, held_by};
        swap.notice = write.notice;
        swap.marker = write.marker;
        swap.position = write.position;
        engine_->swap(swap, std::move(reply));
        written[{write.name, write.becomes}] = write;
    }
    EngineTime now() {
        const auto reading = fetch("what time is it?");
        EXPECT_TRUE(reading) << reading.error().message;
        return reading ? reading->now : EngineTime{};
    }
    /// The names that something was found under, in order.
    template <class Found>
    static std::vector<std::string> names(const Result<Found>& found) {
        EXPECT_TRUE(found) << found.error().message;
        std::vector<std::string> out;
        if (found)
            for (const auto& entry : found->entries)
                out.push_back(entry.name);
        std::sort(out.begin(), out.end());
        return out;
    }

    void on_reachable(const cas::EngineHello& said) override {
        reachable = true;
        ++told;
        hello = said;
    }
    void on_unreachable(const Error& error) override {
        reachable = false;
        ++told;
        why = error;
    }
    void on_notice(std::string_view notice) override { notices.emplace_back(notice); }

    bool reachable = false;
    int told = 0;
    cas::EngineHello hello;
    Error why;
    std::vector<std::string> notices;

 private:
    static std::vector<std::string_view> in_order(const std::vector<std::string>& holders) {
        const std::set<std::string_view> all(holders.begin(), holders.end());
        return {all.begin(), all.end()};
    }

    /// By all rigs of a test: a front knows what it replaces, whoever wrote it.
    inline static std::map<std::pair<std::string, WriteId>, Write> written;

    std::shared_ptr<boost::asio::io_context> loop_;
    std::unique_ptr<cas::Engine> engine_;
};

}  // namespace holdfast::store::redis
