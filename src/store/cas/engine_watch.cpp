#include "store/cas/engine_watch.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "base/text.h"

namespace holdfast::store::cas {
namespace {

std::optional<Duration> ms_of(const std::optional<std::uint64_t>& ms) {
    if (!ms || *ms > 1'000'000'000'000) return std::nullopt;
    return std::chrono::milliseconds(*ms);
}

Duration left(Duration doubt, EngineTime since, EngineTime now) {
    return now < since ? doubt : std::max(doubt - (now - since), Duration::zero());
}

/// Removes and returns the text up to the next blank or other `end`.
std::string_view take_word(std::string_view& text, char end = ' ') {
    const std::string_view word = text.substr(0, text.find(end));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    return word;
}

std::optional<std::vector<std::uint64_t>> incarnations_in(std::string_view text) {
    std::vector<std::uint64_t> found;
    if (text == "-") return found;
    do {
        const auto one = parse_number(take_word(text, ','));
        if (!one) return std::nullopt;
        found.push_back(*one);
    } while (!text.empty());
    return found;
}

/// A front that has missed more doubts than this declares another.
constexpr std::size_t max_over = 32;

void add(std::vector<std::uint64_t>& over, const std::vector<std::uint64_t>& more) {
    for (const std::uint64_t one : more) {
        std::erase(over, one);
        over.push_back(one);
    }
    if (over.size() > max_over) over.erase(over.begin(), over.end() - max_over);
}

}  // namespace

EngineWatch::EngineWatch(Parts parts)
    : parts_(std::move(parts)),
      document_({parts_.engine, parts_.next_write, "engine"}),
      longest_(parts_.remembered.longest),
      seen_(!parts_.remembered.is_empty()) {}

/// LONGEST DOUBT OVER,… HISTORY, the first two in milliseconds, and in a second line why.
std::optional<EngineWatch::Known> EngineWatch::parse(std::string_view text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view first = text.substr(0, end);
    const auto longest = ms_of(parse_number(take_word(first)));
    const auto doubt = ms_of(parse_number(take_word(first)));
    auto over = incarnations_in(take_word(first));
    if (!longest || !doubt || !over) return std::nullopt;
    return Known{std::string(first), *longest, *doubt, std::move(*over),
                 std::string(text.substr(std::min(end + 1, text.size())))};
}

std::string EngineWatch::format(const Known& known) {
    std::string over;
    for (const std::uint64_t incarnation : known.over)
        over += (over.empty() ? "" : ",") + std::to_string(incarnation);
    return fmt::format("{} {} {} {}\n{}", to_ms_up(known.longest), to_ms_up(known.doubt), over.empty() ? "-" : over,
                       known.history, known.why);
}

bool EngineWatch::is_over(std::uint64_t incarnation) const {
    return !knew_less_ && std::find(over_.begin(), over_.end(), incarnation) != over_.end();
}

void EngineWatch::on_reachable(const EngineHello& hello, Callback<Result<std::string>> done) {
    hello_ = hello;
    struct Found {
        Duration doubt{};
        std::string declared;  ///< the reason for the declared doubt
        std::string why;       ///< the reason for another doubt
    };
    const auto found = std::make_shared<Found>();
    document_.change(
        [this, found](const Reading& reading) -> std::string {
            const auto known = parse(reading.value.bytes);
            Known is = known.value_or(Known{hello_.history, longest_, {}, {}, {}});
            over_ = is.over;
            const bool was_new = parts_.new_store && is.why == store_is_empty;
            is.doubt = was_new ? Duration::zero() : left(is.doubt, reading.value.written_at, reading.now);
            *found = {is.doubt, is.why, why_doubted(reading, known)};
            const bool same = known && known->history == hello_.history && known->longest >= longest_ &&
                              !(was_new && known->doubt > Duration::zero());
            knew_less_ |= is.longest < longest_;
            longest_ = is.longest = std::max(longest_, is.longest);
            if (same || !found->why.empty()) return {};
            is.history = hello_.history;
            return format(is);
        },
        [this, found, done = std::move(done)](const Result<Reading>& read) mutable {
            if (!read) return done(read.error());
            if (found->why.empty()) seen_ = true;
            if (found->doubt > Duration::zero()) parts_.on_doubt(found->doubt, found->declared);
            done(std::move(found->why));
        });
}

std::string EngineWatch::why_doubted(const Reading& reading, const std::optional<Known>& known) const {
    if (!known && (seen_ || reading.value.write != 0)) return "the engine has lost what was in it";
    if (!known || known->history == hello_.history || parts_.synchronous) return {};
    return "the engine was restarted or another server took its place, and it may have lost leases";
}

void EngineWatch::declare(const std::string& why, const std::vector<std::uint64_t>& over, Callback<Result<void>> done) {
    parts_.on_doubt(longest_, why);
    document_.change(
        [this, why, over](const Reading& reading) {
            const auto known = parse(reading.value.bytes);
            if (known) longest_ = std::max(longest_, known->longest);
            over_ = known ? known->over : std::vector<std::uint64_t>{};
            add(over_, over);
            return format({hello_.history, longest_, longest_, over_, why});
        },
        [this, done = std::move(done)](const Result<Reading>& written) mutable {
            if (!written) return done(written.error());
            seen_ = true;
            knew_less_ = false;
            done({});
        });
}

void EngineWatch::end_doubt() {
    document_.change(
        [this](const Reading& reading) -> std::string {
            auto known = parse(reading.value.bytes);
            if (!known || known->over != over_ || known->doubt == Duration::zero()) return {};  // it is another
            known->doubt = {};
            return format(*known);
        },
        [](const Result<Reading>&) {});  // on an error, the doubt ends by itself
}

void EngineWatch::expect_ttl(Duration longest, Callback<Result<void>> done) {
    if (longest <= longest_ && seen_) return done({});
    document_.change(
        [this, longest](const Reading& reading) -> std::string {
            const auto known = parse(reading.value.bytes);
            Known is = known.value_or(Known{hello_.history, longest_, {}, {}, {}});
            is.doubt = left(is.doubt, reading.value.written_at, reading.now);
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

}  // namespace holdfast::store::cas
