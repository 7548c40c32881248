#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/etcd/etcd_engine.h"

namespace holdfast::store::etcd {

using cas::EngineTime;
using cas::Kind;
using cas::WriteId;

inline EngineTime engine_now() {
    return EngineTime(store_clock_now().time_since_epoch());
}

/// The loop of a test, and patience: what does not happen within a minute does not happen.
struct Loop {
    boost::asio::io_context io;

    bool run_until(const std::function<bool()>& condition, std::chrono::seconds limit = std::chrono::seconds(60)) {
        const auto until = std::chrono::steady_clock::now() + limit;
        while (!condition()) {
            if (std::chrono::steady_clock::now() > until) return false;
            io.restart();
            io.run_one_for(std::chrono::milliseconds(50));
        }
        return true;
    }
    void run_for(std::chrono::milliseconds span) {
        const auto until = std::chrono::steady_clock::now() + span;
        run_until([&] { return std::chrono::steady_clock::now() >= until; });
    }
};

/// A swap whose text it owns, with what tests mostly want.
struct Write {
    std::string name;
    WriteId expected = 0, becomes = 0;
    std::string bytes = "bytes";
    std::string notice = {};
    std::vector<std::string> holders = {};
    Kind kind = Kind::record;
    Duration keep_for = std::chrono::minutes(5);
    std::optional<Duration> due_in = {};
    EngineTime from = EngineTime::min(), until = EngineTime::max();
    WriteId marker = 0;
    cas::Position position = 0;
};

/// One front's engine on a loop, and what it told.
class Front final : public cas::EngineListener {
 public:
    Front(Loop& loop, EtcdEngineOptions options) : loop_(loop), engine_(make_etcd_engine(loop.io, std::move(options))) {
        engine_->start(*this);
    }
    Front(Loop& loop, const std::string& url) : Front(loop, *parse_etcd_engine(url)) {}
    ~Front() override { engine_->stop(); }

    cas::Engine& engine() { return *engine_; }
    bool becomes_reachable() {
        return loop_.run_until([&] { return reachable; });
    }
    /// It has been away since there were so many on_reachable(), and is back.
    bool comes_back_after(int times) {
        return loop_.run_until([&] { return reachable && times_reachable > times; });
    }

    void on_reachable(const cas::EngineHello& hello) override {
        reachable = true;
        ++times_reachable;
        history = hello.history;
        position = hello.position;
        lost = hello.lost;
    }
    void on_unreachable(const Error& error) override {
        reachable = false;
        ++times_unreachable;
        why = error;
    }
    void on_notice(std::string_view notice) override { notices.emplace_back(notice); }

    void begin(const Write& write, Callback<Result<cas::Swapped>> reply) {
        const std::vector<std::string_view> holders(write.holders.begin(), write.holders.end());
        cas::Swap swap;
        swap.kind = write.kind;
        swap.name = write.name;
        swap.expected = write.expected;
        swap.becomes = write.becomes;
        swap.from = write.from;
        swap.until = write.until;
        swap.written_at = engine_now();
        swap.bytes = write.bytes;
        swap.keep_until = swap.written_at + write.keep_for;
        if (write.due_in) swap.due = swap.written_at + *write.due_in;
        swap.holders = holders;
        swap.notice = write.notice;
        swap.marker = write.marker;
        swap.position = write.position;
        engine_->swap(swap, std::move(reply));
    }
    Result<cas::Swapped> swap(const Write& write) {
        return wait<cas::Swapped>([&](auto reply) { begin(write, std::move(reply)); });
    }
    Result<cas::Reading> fetch(std::string_view name, Kind kind = Kind::record) {
        return wait<cas::Reading>([&](auto reply) { engine_->fetch(kind, name, std::move(reply)); });
    }
    Result<cas::FoundRecords> overlapping(std::string_view resource, std::size_t most = 100) {
        return wait<cas::FoundRecords>([&](auto reply) { engine_->overlapping(resource, most, std::move(reply)); });
    }
    Result<cas::FoundRecords> of_holder(std::string_view holder, std::size_t most = 100) {
        return wait<cas::FoundRecords>([&](auto reply) { engine_->of_holder(holder, most, std::move(reply)); });
    }
    Result<cas::Page> scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most) {
        return wait<cas::Page>([&](auto reply) { engine_->scan(kind, prefix, after, most, std::move(reply)); });
    }
    Result<std::vector<std::string>> overdue(std::size_t most = 100) {
        return wait<std::vector<std::string>>([&](auto reply) { engine_->overdue(most, std::move(reply)); });
    }

    bool reachable = false;
    int times_reachable = 0, times_unreachable = 0;
    Error why, last_error;
    std::string history;
    cas::Position position = 0;
    bool lost = false;
    std::vector<std::string> notices;

 private:
    template <class T>
    Result<T> wait(const std::function<void(Callback<Result<T>>)>& ask) {
        std::optional<Result<T>> result;
        ask([&](Result<T> got) { result = std::move(got); });
        EXPECT_FALSE(result) << "answered within the call";
        if (!loop_.run_until([&] { return result.has_value(); })) return Error{Code::no_answer, "not within a minute"};
        if (!*result) last_error = result->error();
        return std::move(*result);
    }

    Loop& loop_;
    std::unique_ptr<cas::Engine> engine_;
};

/// The number after `"name":` in the engine's status; -1 if there is none.
inline std::int64_t number_in_status(Front& front, const std::string& name) {
    const std::string status = front.engine().status(), key = "\"" + name + "\":";
    const std::size_t at = status.find(key);
    return at == std::string::npos ? -1 : std::stoll(status.substr(at + key.size()));
}

inline std::vector<std::string> names(const std::vector<cas::NamedValue>& entries) {
    std::vector<std::string> names;
    for (const cas::NamedValue& entry : entries)
        names.push_back(entry.name);
    return names;
}

}  // namespace holdfast::store::etcd
