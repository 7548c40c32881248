#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "store/cas/engine_store.h"
#include "store/contract/store_under_test.h"

namespace holdfast::store::cas {

/// True time, which nobody in it can read, and what is to happen when.
class SimTime {
 public:
    Duration now() const { return now_; }
    void at(Duration time, std::function<void()> what) { events_.emplace(std::max(now_, time), std::move(what)); }
    Duration next() const { return events_.empty() ? Duration::max() : events_.begin()->first; }
    /// Moves on to this time and lets happen what is due by then.
    void move_to(Duration time);

 private:
    Duration now_ = 1000s;
    std::multimap<Duration, std::function<void()>> events_;
};

/// A clock: what it shows for true time.
struct SimClock {
    Duration ahead{};
    double rate = 1;

    Duration at(Duration truth) const {
        return ahead + Duration{static_cast<Duration::rep>(static_cast<double>(truth.count()) * rate)};
    }
};

class SimEngine;

/// The server behind all engines: what it keeps, what time it takes it to be, and how it treats its callers.
class SimServer {
 public:
    struct Stored {
        StoredValue value;
        EngineTime keep_until;
        EngineTime due;
        std::vector<std::string> holders;
    };
    SimServer(SimTime& true_time, std::uint64_t seed) : time(true_time), random(seed) {}

    EngineTime now() const { return EngineTime{clock.at(time.now())}; }

    // ---- what tests do to it
    Duration latency = 500us;  ///< one way
    Duration jitter{};
    unsigned loses_requests = 0;  ///< in a hundred
    unsigned loses_answers = 0;
    unsigned loses_notices = 0;
    unsigned doubles_notices = 0;
    unsigned late_swaps = 0;  ///< take effect after the caller has given up
    Duration lingers = 1s;
    Duration answer_time = 400ms;
    bool checks_window = true;
    std::int64_t wall_ms = 0;           ///< of readings; 0: it has no clock that anybody sets
    std::optional<Error> fetches_fail;  ///< all of them, like this
    std::optional<Error> swaps_fail;
    SimClock clock{5000s, 1};
    /// Asked of each swap, before all else, if there is one: what becomes of it.
    enum class Fate : std::uint8_t { carried_out, request_lost, answer_lost, late };
    std::function<Fate(const Swap&)> fate;

    void set_reachable(bool reachable);
    bool reachable() const { return reachable_; }
    void restart(bool with_data);
    /// All that is in it, as somebody copied it: a dump of what is kept, or with `position` the whole data directory.
    struct Copy {
        std::map<Kind, std::map<std::string, Stored>> things;
        std::optional<Position> position;
    };
    Copy dump() const { return {things, std::nullopt}; }
    Copy copy() const { return {things, position}; }
    /// Under all who are connected, who notice nothing of it by themselves.
    void restore(const Copy& copy);
    void empty() { restore({}); }
    bool remove(const std::string& resource) { return things[Kind::record].erase(resource) > 0; }

    // ---- what it does
    Reading fetch(Kind kind, const std::string& name);
    Result<Swapped> swap(const Swap& swap);
    WriteId marker() { return fetch(Kind::record, std::string(marker_name)).value.write; }
    FoundRecords overlapping(const std::string& resource, std::size_t most);
    FoundRecords of_holder(const std::string& holder, std::size_t most);
    Page scan(Kind kind, const std::string& prefix, const std::string& after, std::size_t most);
    std::vector<std::string> overdue(std::size_t most);

    bool chance(unsigned percent) { return percent > 0 && random.below(100) < percent; }
    Duration delay();

    SimTime& time;
    Random random;
    std::vector<SimEngine*> connected;
    std::map<Kind, std::map<std::string, Stored>> things;
    std::uint64_t swaps_done = 0;
    std::uint64_t replacements = 0;  ///< swaps of a record that was there, each checked
    std::uint64_t calls = 0;
    std::uint64_t life = 1;
    Position position = 1;   ///< raised by each swap that is done
    bool says_late = false;  ///< compares no position before a swap, like etcd, and only says it afterwards

 private:
    void forget_old();
    void check_replaced(const Stored& stored, const Swap::Replaced& replaced);
    void spread(std::string_view notice);

    bool reachable_ = true;
};

/// One front's way to it.
class SimEngine final : public Engine {
 public:
    explicit SimEngine(SimServer& server);
    ~SimEngine() override;

    void fetch(Kind kind, std::string_view name, Callback<Result<Reading>> reply) override;
    void swap(const Swap& swap, Callback<Result<Swapped>> reply) override;
    void overlapping(std::string_view resource, std::size_t most, Callback<Result<FoundRecords>> reply) override;
    void of_holder(std::string_view holder, std::size_t most, Callback<Result<FoundRecords>> reply) override;
    void scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
              Callback<Result<Page>> reply) override;
    void overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) override;
    Duration swap_lingers() const override { return server_.lingers; }
    void start(EngineListener& listener) override;
    void stop() override;
    std::string status() const override { return "{}"; }

    void hear(const std::string& notice);
    void set_reachable(bool reachable);

 private:
    template <class Answer>
    void call(std::function<Result<Answer>()> what, Callback<Result<Answer>> reply, SimServer::Fate fate);
    SimServer::Fate some_fate();

    SimServer& server_;
    EngineListener* listener_ = nullptr;
    bool reachable_ = true;
    std::uint64_t connection_ = 1;
    std::map<std::uint64_t, std::function<void()>> failing_;  ///< by call: answers it with the error
    std::uint64_t last_call_ = 0;
    std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace holdfast::store::cas
