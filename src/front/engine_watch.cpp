#include "front/engine_watch.h"

#include <algorithm>
#include <memory>

#include "base/mutant.h"
#include "base/text.h"

namespace holdfast::core {
namespace {

std::optional<Duration> ms_of(std::string_view text) {
    const auto ms = parse_number(text);
    if (!ms || *ms > 1'000'000'000'000) return std::nullopt;
    return std::chrono::milliseconds(*ms);
}

Duration left(Duration doubt, EngineTime since, EngineTime now) {
    return now < since ? doubt : std::max(doubt - (now - since), Duration::zero());
}

}  // namespace

EngineWatch::EngineWatch(Parts parts)
    : parts_(std::move(parts)), document_({parts_.engine, parts_.next_write, "engine"}) {}

std::optional<EngineWatch::Known> EngineWatch::parse(std::string_view text) {
    const std::size_t first = text.find(' ');
    const std::size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    const auto longest = ms_of(text.substr(0, first));
    const auto doubt = ms_of(text.substr(first + 1, second - first - 1));
    if (!longest || !doubt) return std::nullopt;
    return Known{std::string(text.substr(second + 1)), *longest, *doubt};
}

std::string EngineWatch::format(const Known& known) {
    return std::to_string(to_ms_up(known.longest)) + " " + std::to_string(to_ms_up(known.doubt)) + " " + known.life;
}

void EngineWatch::on_reachable(const EngineHello& hello, Callback<Result<void>> done) {
    hello_ = hello;
    const auto doubt = std::make_shared<Doubt>();
    document_.change(
        [this, doubt](const Reading& reading) -> std::string {
            const auto known = parse(reading.kept.bytes);
            if (known) longest_ = std::max(longest_, known->longest);
            *doubt = judge(reading, known);
            const bool same = known && known->life == hello_.life && known->longest == longest_;
            return same && !doubt->is_new ? std::string() : format({hello_.life, longest_, doubt->lasts});
        },
        [this, doubt, done = std::move(done)](const Result<Reading>& read) mutable {
            if (!read) return done(read.error());
            seen_ = true;
            in_doubt_ = doubt->lasts > Duration::zero();
            if (doubt->lasts > Duration::zero() && !mutant("engine_loss_not_noticed"))
                parts_.on_doubt(doubt->lasts, doubt->why);
            done({});
        });
}

EngineWatch::Doubt EngineWatch::judge(const Reading& reading, const std::optional<Known>& known) const {
    if (!known && (seen_ || reading.kept.write != 0)) return {longest_, "the engine has lost what was in it", true};
    if (!known) return {};
    if (hello_.forgets && known->life != hello_.life)
        return {longest_, "the engine was restarted or replaced, and may have lost leases", true};
    return {left(known->doubt, reading.kept.written_at, reading.now),
            "another front found that leases may have been lost", false};
}

void EngineWatch::on_clock_stepped(Duration ahead, Callback<Result<void>> done) {
    declare(
        "the engine's clock went ahead by " + format_duration(ahead) + ", so leases that it takes for over may be held",
        std::move(done));
}

void EngineWatch::declare(const std::string& why, Callback<Result<void>> done) {
    in_doubt_ = true;
    parts_.on_doubt(longest_, why);
    document_.change(
        [this](const Reading& reading) {
            if (const auto known = parse(reading.kept.bytes)) longest_ = std::max(longest_, known->longest);
            return format({hello_.life, longest_, longest_});
        },
        [done = std::move(done)](const Result<Reading>& written) mutable {
            done(written ? Result<void>() : Result<void>(written.error()));
        });
}

void EngineWatch::expect_ttl(Duration longest, Callback<Result<void>> done) {
    if (longest <= longest_ && seen_) return done({});
    document_.change(
        [this, longest](const Reading& reading) -> std::string {
            const auto known = parse(reading.kept.bytes);
            Known is = known.value_or(Known{hello_.life, longest_, {}});
            is.doubt = left(is.doubt, reading.kept.written_at, reading.now);
            if (known && is.longest >= longest) return {};
            is.longest = std::max({is.longest, longest, longest_});
            return format(is);
        },
        [this, longest, done = std::move(done)](const Result<Reading>& read) mutable {
            if (!read) return done(read.error());
            longest_ = std::max(longest_, longest);
            seen_ = true;
            done({});
        });
}

}  // namespace holdfast::core
