#include "orders.h"

#include <algorithm>
#include <boost/json.hpp>
#include <deque>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "base/text.h"
#include "ending_watch.h"

namespace holdfast::bench {
namespace {

namespace json = boost::json;

constexpr std::uint64_t max_leases = 10'000'000;
constexpr std::uint64_t max_ms = 24 * 3600 * 1000;
constexpr std::uint64_t max_checks = 10'000'000'000;

std::int64_t nanoseconds(Moment moment) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch()).count();
}

double seconds(SteadyClock::duration duration) {
    return std::chrono::duration<double>(duration).count();
}

json::value text_or_null(const std::string& text) {
    return text.empty() ? json::value() : json::value(text);
}

/// REQUIRES: sorted, and there are some.
double percentile(const std::vector<double>& sorted, double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

/// The words of an order, one after the other.
class Words {
 public:
    explicit Words(const std::string& line) : line_(line) {}

    std::string text(const char* what) {
        std::string word;
        if (!(line_ >> word)) throw std::runtime_error(std::string("there is no ") + what);
        return word;
    }
    std::uint64_t number(const char* what, std::uint64_t most) {
        const auto found = parse_number(text(what));
        if (!found || *found > most)
            throw std::runtime_error(std::string(what) + " is not a number up to " + std::to_string(most));
        return *found;
    }
    Milliseconds time(const char* what) { return Milliseconds(number(what, max_ms)); }
    void end() {
        std::string word;
        if (line_ >> word) throw std::runtime_error("what is " + word + "?");
    }

 private:
    std::istringstream line_;
};

json::object told(const Granting& granting) {
    return {{"granted", granting.granted},
            {"token", granting.token ? json::value(*granting.token) : json::value()},
            {"asked", nanoseconds(granting.asked)},
            {"answered", nanoseconds(granting.answered)},
            {"why", text_or_null(granting.why)}};
}

json::object told(const char* what, const Doing& doing) {
    return {{what, doing.done},
            {"asked", nanoseconds(doing.asked)},
            {"answered", nanoseconds(doing.answered)},
            {"why", text_or_null(doing.why)}};
}

class Orders {
 public:
    Orders(Peer& peer, Identity identity) : peer_(peer), identity_(std::move(identity)) {}

    json::object carry_out(const std::string& line);

 private:
    json::object hello();
    json::object single(const std::string& order, Words& words);
    json::object fill(std::uint32_t count, Milliseconds ttl);
    json::object renew_all(Duration time);
    json::object end_over(const EndOver& wanted);
    json::object round_trips(std::uint64_t count);
    json::object local_checks(std::uint64_t count);

    Peer& peer_;
    Identity identity_;
    std::uint32_t filled_ = 0;
};

json::object Orders::carry_out(const std::string& line) {
    Words words(line);
    const std::string order = words.text("order");
    const auto finished = [&](auto value) {
        words.end();
        return value;
    };
    if (order == "hello") return finished(true) ? hello() : json::object();
    if (order == "fill") {
        const auto count = static_cast<std::uint32_t>(words.number("COUNT", max_leases));
        return fill(count, finished(words.time("TTL")));
    }
    if (order == "renew-all") {
        const auto time = parse_duration(words.text("SECONDS"));
        if (!time || *time <= 0s || *time > 1h)
            throw std::runtime_error("SECONDS is not a number above 0 and up to 3600");
        return renew_all(finished(*time));
    }
    if (order == "end-over") {
        EndOver wanted{.count = static_cast<std::uint32_t>(words.number("COUNT", max_leases))};
        wanted.first = words.time("FIRST");
        wanted.span = words.time("SPAN");
        return end_over(finished(wanted));
    }
    if (order == "round-trips") return round_trips(finished(words.number("COUNT", max_leases)));
    if (order == "local-checks") return local_checks(finished(words.number("COUNT", max_checks)));
    if (order == "drop") {
        words.end();
        peer_.drop();
        filled_ = 0;
        return {{"dropped", true}};
    }
    return single(order, words);
}

json::object Orders::hello() {
    const Promises promises = peer_.promises();
    return {{"peer", identity_.peer},
            {"holder", identity_.holder},
            {"promises", json::object{{"durable", promises.durable},
                                      {"replicated", promises.replicated},
                                      {"token", promises.token},
                                      {"local_deadline", text_or_null(promises.local_deadline)}}}};
}

json::object Orders::single(const std::string& order, Words& words) {
    if (order == "acquire" || order == "await") {
        const std::string name = words.text("NAME");
        const Milliseconds ttl = words.time("TTL");
        const Milliseconds within = order == "await" ? words.time("WITHIN") : Milliseconds(0);
        words.end();
        return told(order == "await" ? peer_.await(name, ttl, within) : peer_.acquire(name, ttl));
    }
    if (order != "renew" && order != "release" && order != "held" && order != "owner")
        throw std::runtime_error("there is no order " + order);
    const std::string name = words.text("NAME");
    words.end();
    if (order == "renew") return told("renewed", peer_.renew(name));
    if (order == "release") return told("released", peer_.release(name));
    if (order == "held") {
        const bool held = peer_.held(name);
        return {{"held", held}, {"at", nanoseconds(SteadyClock::now())}};
    }
    const Showing showing = peer_.owner(name);
    return {{"holder", showing.holder ? json::value(*showing.holder) : json::value()},
            {"asked", nanoseconds(showing.asked)},
            {"answered", nanoseconds(showing.answered)}};
}

json::object Orders::fill(std::uint32_t count, Milliseconds ttl) {
    constexpr std::uint32_t step = 10'000;  // so that what was taken before a failure is known
    const Moment start = SteadyClock::now();
    while (filled_ < count) {
        const Range range{filled_, std::min(step, count - filled_)};
        peer_.fill(range, ttl);
        filled_ += range.count;
    }
    return {{"count", filled_}, {"seconds", seconds(SteadyClock::now() - start)}};
}

json::object Orders::renew_all(Duration time) {
    if (filled_ == 0) throw std::runtime_error("nothing is held: fill first");
    const Batching batching = peer_.batching();
    const std::uint32_t most = batching.leases == 0 ? filled_ : std::min(batching.leases, filled_);
    std::deque<std::pair<Range, Moment>> under_way;
    std::vector<double> batch_us;
    std::uint64_t renewed = 0;
    std::uint32_t next = 0;
    const Moment start = SteadyClock::now();
    while (true) {
        while (under_way.size() < batching.under_way && SteadyClock::now() < start + time) {
            const Range range{next, std::min(most, filled_ - next)};
            next = (next + range.count) % filled_;
            under_way.emplace_back(range, SteadyClock::now());
            peer_.begin_renewals(range);
        }
        if (under_way.empty()) break;
        const auto [range, asked] = under_way.front();
        under_way.pop_front();
        peer_.finish_renewals(range);
        batch_us.push_back(1e6 * seconds(SteadyClock::now() - asked));
        renewed += range.count;
    }
    const double took = seconds(SteadyClock::now() - start);
    std::sort(batch_us.begin(), batch_us.end());
    return {{"renewed", renewed},
            {"seconds", took},
            {"rounds", static_cast<double>(renewed) / filled_},
            {"batch", most},
            {"p50_us", percentile(batch_us, 0.5)},
            {"p99_us", percentile(batch_us, 0.99)}};
}

json::object Orders::end_over(const EndOver& wanted) {
    if (wanted.count == 0) throw std::runtime_error("COUNT is 0");
    const Lateness found = watch_them_end(peer_, wanted);
    json::array curve;
    for (int percent = 0; percent <= 100; ++percent)
        curve.push_back(percentile(found.late_us, percent / 100.0) / 1000);
    return {{"count", wanted.count},
            {"seen", found.seen},
            {"early", found.early},
            {"late_us", json::object{{"p50", percentile(found.late_us, 0.5)},
                                     {"p99", percentile(found.late_us, 0.99)},
                                     {"max", found.late_us.back()}}},
            {"late_ms_curve", std::move(curve)},
            {"way", found.way}};
}

json::object Orders::round_trips(std::uint64_t count) {
    if (filled_ == 0) throw std::runtime_error("nothing is held: fill first");
    std::vector<double> ns;
    const Moment start = SteadyClock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        const Moment asked = SteadyClock::now();
        if (peer_.owner(fill_name(0)).holder != identity_.holder) throw std::runtime_error("fill-0 is not held");
        ns.push_back(1e9 * seconds(SteadyClock::now() - asked));
    }
    const double all = seconds(SteadyClock::now() - start);
    if (ns.empty()) throw std::runtime_error("COUNT is 0");
    std::sort(ns.begin(), ns.end());
    return {{"count", count}, {"p50_ns", percentile(ns, 0.5)}, {"mean_ns", 1e9 * all / static_cast<double>(count)}};
}

json::object Orders::local_checks(std::uint64_t count) {
    if (filled_ == 0 || count == 0) throw std::runtime_error("nothing is held, or COUNT is 0");
    peer_.check_locally(1);  // what is made when it is first needed is not measured
    const Moment start = SteadyClock::now();
    const std::uint64_t yes = peer_.check_locally(count);
    const double all = seconds(SteadyClock::now() - start);
    if (yes != count) throw std::runtime_error("fill-0 is not held");
    return {{"count", count}, {"mean_ns", 1e9 * all / static_cast<double>(count)}};
}

}  // namespace

int serve_orders(Peer& peer, Identity identity) {
    Orders orders(peer, std::move(identity));
    std::string line;
    while (std::getline(std::cin, line) && line != "quit") {
        json::object answer;
        try {
            answer = orders.carry_out(line);
        } catch (const std::exception& error) {
            answer = {{"error", error.what()}};
        }
        std::cout << json::serialize(answer) << std::endl;
    }
    return 0;
}

}  // namespace holdfast::bench
