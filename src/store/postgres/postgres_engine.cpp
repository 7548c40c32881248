#include "store/postgres/postgres_engine.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <limits>

#include "base/assert.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "lease/resource.h"
#include "store/postgres/answers.h"
#include "store/postgres/notices.h"
#include "store/postgres/pool.h"
#include "store/postgres/schema.h"

namespace holdfast::store::postgres {
namespace {

using namespace postgres;

constexpr std::size_t max_look = 10'000;
constexpr std::int32_t max_sweep = 1000;
constexpr std::size_t payloads_at_once = 16;
constexpr Duration tell_pause = 10ms;  // between batches of notices that may be lost

std::int16_t number_of(cas::Kind kind) {
    return kind == cas::Kind::record ? 0 : 1;
}

/// One more than requested, to detect whether there are more.
std::int32_t one_more_than(std::size_t most) {
    return static_cast<std::int32_t>(most) + 1;
}

/// The first name after all names with this prefix.
std::string end_of(std::string_view prefix) {
    std::string end(prefix);
    while (!end.empty() && end.back() == '\xff')
        end.pop_back();
    if (end.empty()) return std::string(64, '\xff');
    end.back() = static_cast<char>(end.back() + 1);
    return end;
}

Pool::Settings pool_settings(const PostgresEngineOptions& options) {
    Pool::Settings settings;
    settings.connection.parameters = options.parameters;
    settings.connection.parameters.emplace_back("fallback_application_name", "holdfast");
    settings.connection.parameters.emplace_back("client_encoding", "UTF8");
    settings.connection.schema = options.schema;
    settings.connection.connect_within = options.connect_within;
    settings.connection.answer_within = options.answer_within;
    settings.connections = options.pool;
    settings.max_calls = options.max_calls;
    settings.max_bytes = options.max_bytes;
    return settings;
}

CallPtr call_of(const char* statement) {
    auto call = std::make_shared<Call>();
    call->statement = statement;
    return call;
}

std::string parameter(const PostgresEngineOptions& options, std::string_view wanted, const char* otherwise) {
    for (const auto& [name, value] : options.parameters)
        if (name == wanted) return value;
    return otherwise;
}

std::string address_of(const PostgresEngineOptions& options) {
    const std::string host = parameter(options, "host", "");
    const std::string where = host.empty() ? parameter(options, "hostaddr", "this machine") : host;
    return fmt::format("{}:{}/{}", where, parameter(options, "port", "5432"), parameter(options, "dbname", ""));
}

/// The answer to GET /v1/store, without any password.
std::string status_of(const PostgresEngineOptions& options, const Pool& pool, const Hello& hello) {
    auto status = JsonValue::object({{"engine", "postgres"},
                                     {"address", address_of(options)},
                                     {"schema", options.schema},
                                     {"version", hello.version},
                                     {"history", hello.history},
                                     {"reachable", pool.reachable()},
                                     {"pool", options.pool},
                                     {"connections", pool.open()},
                                     {"round_trip_us", pool.round_trip() / 1us}});
    if (!pool.reachable()) status.set("why", pool.why_not());
    return to_text(status);
}

class PostgresEngine final : public cas::Engine, Pool::Owner {
 public:
    PostgresEngine(boost::asio::io_context& loop, PostgresEngineOptions options)
        : loop_(loop),
          options_(std::move(options)),
          pool_(loop, *this, pool_settings(options_)),
          sweep_timer_(loop),
          tell_timer_(loop),
          random_(random_seed()) {}
    ~PostgresEngine() override {
        stop();
        *alive_ = false;
    }

    void fetch(cas::Kind kind, std::string_view name, Callback<Result<cas::Reading>> reply) override;
    void swap(const cas::Swap& swap, Callback<Result<cas::Swapped>> reply) override;
    void overlapping(std::string_view resource, std::size_t most, Callback<Result<cas::FoundRecords>> reply) override;
    void of_holder(std::string_view holder, std::size_t most, Callback<Result<cas::FoundRecords>> reply) override;
    void scan(cas::Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
              Callback<Result<cas::Page>> reply) override;
    void overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) override;

    /// The time until it begins, until it is noticed that it does not end, and until it is then terminated.
    Duration swap_lingers() const override { return 2 * options_.answer_within + 1s; }

    void start(cas::EngineListener& listener) override {
        listener_ = &listener;
        pool_.start();
        sweep_later();
    }
    void stop() override {
        listener_ = nullptr;
        sweep_timer_.cancel();
        tell_timer_.cancel();
        pool_.stop();
    }
    std::string status() const override { return status_of(options_, pool_, hello_); }

 private:
    void on_reachable(const Hello& hello) override;
    void on_unreachable(const std::string& why) override;
    void on_payload(std::string_view payload) override;

    /// The facts needed to judge the reply to a swap.
    struct Asked {
        cas::WriteId expected;
        cas::EngineTime from, until;
        std::string notice;  ///< to be sent if it is done
    };
    Result<cas::Swapped> on_swapped(const Asked& asked, const Rows& rows);
    void look(CallPtr call, std::size_t most, Callback<Result<cas::FoundRecords>> reply);
    void tell_soon();
    void tell();
    void sweep_later();
    void sweep();
    /// Observes the engine's time in a reply.
    void note(cas::EngineTime now) { clock_.observe(now, store_clock_now()); }

    boost::asio::io_context& loop_;
    const PostgresEngineOptions options_;
    Pool pool_;
    boost::asio::steady_timer sweep_timer_, tell_timer_;
    Random random_;
    cas::EngineListener* listener_ = nullptr;
    Hello hello_;
    ServerClock clock_;
    Notices notices_;
    Instant told_at_{};
    bool tell_awaited_ = false;
    bool telling_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// ---- calls ----

void PostgresEngine::fetch(cas::Kind kind, std::string_view name, Callback<Result<cas::Reading>> reply) {
    auto call = call_of(statement::fetch);
    call->locks = true;
    call->name = name;
    call->params.small(number_of(kind)).bytes(name).truth(false);
    call->reply = [this, reply = std::move(reply)](Result<Rows> rows) mutable {
        auto reading = rows ? reading_in(*rows) : Result<cas::Reading>(rows.error());
        if (reading) note(reading->now);
        reply(std::move(reading));
    };
    pool_.call(std::move(call));
}

void PostgresEngine::swap(const cas::Swap& swap, Callback<Result<cas::Swapped>> reply) {
    HOLDFAST_ASSERT(swap.notice.size() <= notice_bytes);
    const bool tells_inside = swap.notice_must_arrive && !swap.notice.empty();
    auto call = call_of(statement::swap);
    call->writes = call->locks = true;
    call->name = swap.name;
    call->is_document = swap.kind == cas::Kind::document;
    const cas::EngineTime until = std::min(swap.until, clock_.not_after(store_clock_now(), options_.answer_within));
    call->swap = SwapNeeds{.makes = swap.expected == 0 && !swap.bytes.empty(),
                           .ends = swap.bytes.empty(),
                           .tells = tells_inside,
                           .from = to_ns(swap.from),
                           .until = to_ns(until),
                           .marker = swap.marker,
                           .position = static_cast<std::int64_t>(swap.position)};
    call->params.small(number_of(swap.kind))
        .bytes(swap.name)
        .bytes(swap.expected.bytes())
        .bytes(swap.becomes.bytes())
        .big(to_ns(swap.from))
        .big(to_ns(until))
        .big(to_ns(swap.written_at))
        .bytes(swap.bytes)
        .big(to_ns(swap.keep_until))
        .big(to_ns(swap.due))
        .byte_strings(swap.holders)
        .bytes(tells_inside ? payload_of(swap.notice) : std::string());
    Asked asked{swap.expected, swap.from, swap.until, tells_inside ? std::string() : std::string(swap.notice)};
    call->reply = [this, asked = std::move(asked), reply = std::move(reply)](Result<Rows> rows) mutable {
        reply(rows ? on_swapped(asked, *rows) : Result<cas::Swapped>(rows.error()));
    };
    pool_.call(std::move(call));
}

Result<cas::Swapped> PostgresEngine::on_swapped(const Asked& asked, const Rows& rows) {
    auto swapped = swapped_in(rows, asked.expected);
    if (!swapped) return swapped;
    note(swapped->now);
    if (swapped->done) {
        if (!asked.notice.empty()) notices_.add(asked.notice);
        tell_soon();
        return swapped;
    }
    const bool was_its_time = swapped->now >= asked.from && swapped->now < asked.until;
    if (swapped->found.write == asked.expected && was_its_time)
        return Error{Code::store_unavailable, "PostgreSQL: it came too late to take effect"};
    return swapped;
}

void PostgresEngine::look(CallPtr call, std::size_t most, Callback<Result<cas::FoundRecords>> reply) {
    call->reply = [this, most, reply = std::move(reply)](Result<Rows> rows) mutable {
        auto read = rows ? records_in(*rows, most) : Result<cas::FoundRecords>(rows.error());
        if (read) note(read->now);
        reply(std::move(read));
    };
    pool_.call(std::move(call));
}

void PostgresEngine::overlapping(std::string_view resource, std::size_t most,
                                 Callback<Result<cas::FoundRecords>> reply) {
    most = std::min(most, max_look);
    std::vector<std::int32_t> cuts;
    std::string low, high;
    if (const auto file = lease::file_path(resource)) {
        for (std::size_t i = 0; i < file->path.size(); ++i)
            if (file->path[i] == '/') cuts.push_back(static_cast<std::int32_t>(file->scope.size() + i));
        if (file->tree) {
            low = std::string(file->scope) + std::string(file->path) + '/';
            high = end_of(low);
        }
    }
    auto call = call_of(statement::overlapping);
    call->params.bytes(resource).bytes(low).bytes(high).numbers(cuts).number(one_more_than(most));
    look(std::move(call), most, std::move(reply));
}

void PostgresEngine::of_holder(std::string_view holder, std::size_t most, Callback<Result<cas::FoundRecords>> reply) {
    most = std::min(most, max_look);
    auto call = call_of(statement::of_holder);
    call->params.bytes(holder).number(one_more_than(most));
    look(std::move(call), most, std::move(reply));
}

void PostgresEngine::scan(cas::Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
                          Callback<Result<cas::Page>> reply) {
    most = std::clamp<std::size_t>(most, 1, max_look);
    auto call = call_of(statement::scan);
    call->params.small(number_of(kind)).bytes(prefix).bytes(end_of(prefix)).bytes(after).number(one_more_than(most));
    look(std::move(call), most, [reply = std::move(reply)](Result<cas::FoundRecords> read) mutable {
        if (!read) return reply(read.error());
        std::string next = read->cut ? read->entries.back().name : std::string();
        reply(cas::Page{std::move(read->entries), read->now, std::move(next)});
    });
}

void PostgresEngine::overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) {
    auto call = call_of(statement::overdue);
    call->alone = true;  // it writes, and locks rows in another order
    call->params.number(static_cast<std::int32_t>(std::min(most, max_look)));
    call->reply = [reply = std::move(reply)](Result<Rows> rows) mutable {
        reply(rows ? names_in(*rows) : Result<std::vector<std::string>>(rows.error()));
    };
    pool_.call(std::move(call));
}

// ---- events ----

void PostgresEngine::on_reachable(const Hello& hello) {
    hello_ = hello;
    clock_.observe(engine_time(hello.clock), hello.heard_at);
    if (listener_ != nullptr) listener_->on_reachable({hello.history, hello.place});
    tell_soon();
}

void PostgresEngine::on_unreachable(const std::string& why) {
    if (listener_ != nullptr) listener_->on_unreachable({Code::store_unavailable, "PostgreSQL: " + why});
}

void PostgresEngine::on_payload(std::string_view payload) {
    const auto notices = notices_in(payload);
    if (!notices) return;  // someone else uses our channel
    for (const std::string& notice : *notices)
        if (listener_ != nullptr) listener_->on_notice(notice);
}

void PostgresEngine::tell_soon() {
    if (tell_awaited_ || telling_ || notices_.empty()) return;
    tell_awaited_ = true;
    tell_timer_.expires_after(std::max<Duration>(told_at_ + tell_pause - store_clock_now(), 0s));
    tell_timer_.async_wait([this, alive = alive_](boost::system::error_code) {
        if (!*alive) return;
        tell_awaited_ = false;
        tell();
    });
}

/// Sends everything queued in one transaction at a time. Each wakes the listening connection of every front.
void PostgresEngine::tell() {
    if (telling_ || !pool_.reachable() || notices_.empty()) return;
    std::vector<CallPtr> calls;
    for (const std::string& payload : notices_.take(payloads_at_once)) {
        calls.push_back(call_of(statement::tell));
        calls.back()->params.bytes(payload);
    }
    calls.back()->reply = [this](Result<Rows>) {
        telling_ = false;
        tell_soon();
    };
    telling_ = true;
    told_at_ = store_clock_now();
    if (!pool_.call_by_listener(std::move(calls))) telling_ = false;
}

void PostgresEngine::sweep_later() {
    sweep_timer_.expires_after(std::chrono::duration_cast<Duration>(options_.sweep_every * (0.5 + random_.unit())));
    sweep_timer_.async_wait([this, alive = alive_](boost::system::error_code error) {
        if (error || !*alive) return;
        sweep();
        sweep_later();
    });
}

/// Uses the last observed clock: if it has stepped since, the time from before that step applies.
void PostgresEngine::sweep() {
    const Instant now = store_clock_now();
    if (!pool_.reachable() || !clock_.is_even_for(options_.sweep_after, now)) return;
    auto call = call_of(statement::sweep);
    call->alone = true;
    call->params.big(to_ns(clock_.not_after(now, 0s))).number(max_sweep);
    call->reply = [this](Result<Rows> rows) {
        const auto swept = rows ? number_in(*rows) : Result<std::int64_t>(rows.error());
        if (swept && *swept >= max_sweep) sweep();
    };
    pool_.call(std::move(call));
}

}  // namespace

std::unique_ptr<cas::Engine> make_postgres_engine(boost::asio::io_context& loop, PostgresEngineOptions options) {
    return std::make_unique<PostgresEngine>(loop, std::move(options));
}

}  // namespace holdfast::store::postgres
