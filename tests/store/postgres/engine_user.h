#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/cas/engine.h"
#include "store/postgres/postgres_engine.h"
#include "support/postgres_process.h"

namespace holdfast::store::postgres {

/// One front's engine, with what it tells, on a loop of its own or that of another; calls wait for their answers.
class EngineUser final : public cas::EngineListener {
 public:
    using Change = std::function<void(PostgresEngineOptions&)>;

    explicit EngineUser(const std::string& url, const Change& change = {},
                        std::shared_ptr<boost::asio::io_context> loop = std::make_shared<boost::asio::io_context>());
    ~EngineUser() override;

    cas::Engine& engine() { return *engine_; }
    const std::shared_ptr<boost::asio::io_context>& loop() { return loop_; }

    /// Runs the loop until it holds; false if that takes longer than a minute.
    bool until(const std::function<bool()>& condition);
    bool until_reachable() {
        return until([this] { return reachable; });
    }
    bool until_unreachable() {
        return until([this] { return !reachable && !why.empty(); });
    }
    void run_for(Duration time);

    /// The answer to one call: `ask(callback)` makes it.
    template <class Value>
    Result<Value> answer(const std::function<void(Callback<Result<Value>>)>& ask) {
        auto got = std::make_shared<std::optional<Result<Value>>>();
        ask([got](Result<Value> result) { *got = std::move(result); });
        if (!until([&] { return got->has_value(); })) return Error{Code::no_answer, "no answer within a minute"};
        return std::move(**got);
    }
    Result<cas::Reading> fetch(const std::string& name, cas::Kind kind = cas::Kind::record);
    Result<cas::Swapped> swap(const cas::Swap& swap);
    Result<cas::FoundRecords> overlapping(const std::string& name, std::size_t most = 100);
    Result<cas::FoundRecords> of_holder(const std::string& holder, std::size_t most = 100);
    Result<cas::Page> scan(const std::string& prefix, const std::string& after, std::size_t most,
                           cas::Kind kind = cas::Kind::record);
    Result<std::vector<std::string>> overdue();

    /// A number for a write that no other user has.
    cas::WriteId next_write() { return ++last_write_; }
    /// Writes a record; fails the test if that is not done.
    cas::WriteId write(const std::string& name, const std::string& bytes, cas::WriteId expected = 0);

    bool reachable = false;
    int times_reachable = 0;
    cas::EngineHello hello;
    std::string why;  ///< it was last not reachable
    std::vector<std::string> notices;

 private:
    void on_reachable(const cas::EngineHello& said) override;
    void on_unreachable(const Error& error) override;
    void on_notice(std::string_view notice) override { notices.emplace_back(notice); }

    std::shared_ptr<boost::asio::io_context> loop_;
    std::unique_ptr<cas::Engine> engine_;
    cas::WriteId last_write_;
};

/// A swap with what most tests want.
cas::Swap swap_of(std::string_view name, cas::WriteId expected, cas::WriteId becomes, std::string_view bytes);

/// The server that most tests share; its `fsync` is off.
PostgresProcess& shared_postgres();
/// A schema of its own there, named after the test.
std::string fresh_url(const std::string& query = {});
std::string fresh_schema();

}  // namespace holdfast::store::postgres
