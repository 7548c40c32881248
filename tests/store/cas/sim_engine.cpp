#include "store/cas/sim_engine.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "lease/resource.h"

namespace holdfast::store::cas {

void SimTime::move_to(Duration time) {
    while (!events_.empty() && events_.begin()->first <= time) {
        now_ = std::max(now_, events_.begin()->first);
        const auto what = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        what();
    }
    now_ = std::max(now_, time);
}

Duration SimServer::delay() {
    if (jitter == Duration::zero()) return latency;
    return latency + Duration{static_cast<Duration::rep>(random.below(static_cast<std::uint64_t>(jitter.count())))};
}

void SimServer::set_reachable(bool reachable) {
    reachable_ = reachable;
    for (SimEngine* engine : connected)
        engine->set_reachable(reachable);
}

void SimServer::restart(bool with_data) {
    set_reachable(false);
    if (!with_data) things.clear();
    ++life;
    set_reachable(true);
}

void SimServer::restore(const Copy& copy) {
    things = copy.things;
    if (copy.position) position = *copy.position;
}

void SimServer::forget_old() {
    std::erase_if(things[Kind::record], [&](const auto& entry) { return entry.second.keep_until <= now(); });
}

Reading SimServer::fetch(Kind kind, const std::string& name) {
    forget_old();
    const auto& of_kind = things[kind];
    const auto found = of_kind.find(name);
    return {found == of_kind.end() ? StoredValue{} : found->second.value, now(), wall_ms, position};
}

/// An engine relies on it to keep its indices.
void SimServer::check_replaced(const Stored& stored, const Swap::Replaced& replaced) {
    ++replacements;
    EXPECT_EQ(replaced.keep_until, stored.keep_until);
    EXPECT_EQ(replaced.due, stored.due);
    EXPECT_TRUE(std::ranges::equal(replaced.holders, stored.holders));
}

Result<Swapped> SimServer::swap(const Swap& swap) {
    forget_old();
    if (swaps_fail) return *swaps_fail;
    if (swap.marker != WriteId{} && !stands(marker(), swap.marker))
        return Error{Code::store_lost, "the simulated engine has lost its marker"};
    if (position < swap.position && !says_late) return Error{Code::store_lost, "the simulated engine went back"};
    auto& of_kind = things[swap.kind];
    const auto found = of_kind.find(std::string(swap.name));
    const WriteId is_there = found == of_kind.end() ? WriteId{} : found->second.value.write;
    if (is_there != swap.expected)
        return Swapped{false, now(), found == of_kind.end() ? StoredValue{} : found->second.value, position};
    if (checks_window && (now() < swap.from || now() >= swap.until))
        return Swapped{false, now(), StoredValue{is_there, {}, {}}, position};
    if (found != of_kind.end() && swap.kind == Kind::record) check_replaced(found->second, swap.replaced);
    if (swap.bytes.empty()) {
        of_kind.erase(std::string(swap.name));
    } else {
        Stored& stored = of_kind[std::string(swap.name)];
        stored = {{swap.becomes, swap.written_at, std::string(swap.bytes)}, swap.keep_until, swap.due, {}};
        stored.holders.assign(swap.holders.begin(), swap.holders.end());
    }
    ++swaps_done;
    ++position;
    if (position <= swap.position) return Error{Code::store_lost, "the simulated engine had gone back"};
    if (!swap.notice.empty()) spread(swap.notice);
    return Swapped{true, now(), {}, position};
}

void SimServer::spread(std::string_view notice) {
    for (SimEngine* engine : connected) {
        if (chance(loses_notices)) continue;
        for (int times = chance(doubles_notices) ? 2 : 1; times > 0; --times)
            time.at(time.now() + delay(), [this, engine, text = std::string(notice)] {
                const bool there = std::find(connected.begin(), connected.end(), engine) != connected.end();
                if (there) engine->hear(text);
            });
    }
}

FoundRecords SimServer::overlapping(const std::string& resource, std::size_t most) {
    forget_old();
    FoundRecords read{{}, now(), false};
    const auto path = lease::file_path(resource);
    for (const auto& [name, stored] : things[Kind::record]) {
        const auto other = lease::file_path(name);
        if (!path || !other || !lease::overlap(*path, *other)) continue;
        read.cut |= read.entries.size() == most;
        if (read.entries.size() < most) read.entries.push_back({name, stored.value});
    }
    return read;
}

FoundRecords SimServer::of_holder(const std::string& holder, std::size_t most) {
    forget_old();
    FoundRecords read{{}, now(), false};
    for (const auto& [name, stored] : things[Kind::record]) {
        if (std::find(stored.holders.begin(), stored.holders.end(), holder) == stored.holders.end()) continue;
        read.cut |= read.entries.size() == most;
        if (read.entries.size() < most) read.entries.push_back({name, stored.value});
    }
    return read;
}

Page SimServer::scan(Kind kind, const std::string& prefix, const std::string& after, std::size_t most) {
    forget_old();
    Page page{{}, now(), {}};
    const auto& of_kind = things[kind];
    std::size_t looked_at = 0;
    for (auto it = after.empty() ? of_kind.begin() : of_kind.upper_bound(after); it != of_kind.end(); ++it) {
        if (looked_at++ == most) {
            page.next = std::prev(it)->first;
            break;
        }
        if (it->first.starts_with(prefix)) page.entries.push_back({it->first, it->second.value});
    }
    return page;
}

std::vector<std::string> SimServer::overdue(std::size_t most) {
    forget_old();
    std::vector<std::string> names;
    for (const auto& [name, stored] : things[Kind::record])
        if (stored.due < now() - 3s && names.size() < most) names.push_back(name);
    return names;
}

SimEngine::SimEngine(SimServer& server) : server_(server) {
    server_.connected.push_back(this);
}

SimEngine::~SimEngine() {
    std::erase(server_.connected, this);
}

SimServer::Fate SimEngine::some_fate() {
    if (server_.chance(server_.loses_requests)) return SimServer::Fate::request_lost;
    return server_.chance(server_.loses_answers) ? SimServer::Fate::answer_lost : SimServer::Fate::carried_out;
}

template <class Answer>
void SimEngine::call(std::function<Result<Answer>()> what, Callback<Result<Answer>> reply, SimServer::Fate fate) {
    ++server_.calls;
    const std::uint64_t number = ++last_call_;
    auto held = std::make_shared<Callback<Result<Answer>>>(std::move(reply));
    const Error error{Code::store_unavailable, "the simulated engine did not answer"};
    failing_[number] = [held, error] { (*held)(error); };
    const auto fail = [this, number, alive = std::weak_ptr(alive_)] {
        if (alive.expired()) return;
        auto failing = failing_.extract(number);
        if (failing) failing.mapped()();
    };
    SimTime& time = server_.time;
    if (!reachable_) return time.at(time.now(), fail);
    time.at(time.now() + server_.answer_time, fail);
    if (fate == SimServer::Fate::request_lost) return;
    const Duration travel = fate == SimServer::Fate::late ? server_.lingers - 1ms : server_.delay();
    time.at(time.now() + travel, [this, alive = std::weak_ptr(alive_), what = std::move(what), held, number, fate,
                                  connection = connection_, &server = server_] {
        if (!server.reachable() && fate != SimServer::Fate::late) return;
        const auto answer = what();
        if (fate != SimServer::Fate::carried_out) return;
        server.time.at(server.time.now() + server.delay(), [this, alive, held, number, connection, answer] {
            if (alive.expired() || connection != connection_) return;
            if (failing_.erase(number) > 0) (*held)(answer);
        });
    });
}

void SimEngine::fetch(Kind kind, std::string_view name, Callback<Result<Reading>> reply) {
    const auto look = [&server = server_, kind, name = std::string(name)]() -> Result<Reading> {
        if (server.fetches_fail) return *server.fetches_fail;
        return server.fetch(kind, name);
    };
    call<Reading>(look, std::move(reply), some_fate());
}

void SimEngine::swap(const Swap& swap, Callback<Result<Swapped>> reply) {
    struct Owned {
        Swap swap;
        std::string name, bytes, notice;
        std::vector<std::string> holders, replaced;
        std::vector<std::string_view> views, replaced_views;
    };
    auto owned = std::make_shared<Owned>();
    owned->swap = swap;
    owned->swap.name = owned->name = swap.name;
    owned->swap.bytes = owned->bytes = swap.bytes;
    owned->swap.notice = owned->notice = swap.notice;
    owned->holders.assign(swap.holders.begin(), swap.holders.end());
    owned->views.assign(owned->holders.begin(), owned->holders.end());
    owned->swap.holders = owned->views;
    owned->replaced.assign(swap.replaced.holders.begin(), swap.replaced.holders.end());
    owned->replaced_views.assign(owned->replaced.begin(), owned->replaced.end());
    owned->swap.replaced.holders = owned->replaced_views;
    const bool late = server_.chance(server_.late_swaps);
    const auto fate = server_.fate ? server_.fate(swap) : late ? SimServer::Fate::late : some_fate();
    call<Swapped>([&server = server_, owned] { return server.swap(owned->swap); }, std::move(reply), fate);
}

void SimEngine::overlapping(std::string_view resource, std::size_t most, Callback<Result<FoundRecords>> reply) {
    call<FoundRecords>(
        [&server = server_, name = std::string(resource), most] { return server.overlapping(name, most); },
        std::move(reply), some_fate());
}

void SimEngine::of_holder(std::string_view holder, std::size_t most, Callback<Result<FoundRecords>> reply) {
    call<FoundRecords>([&server = server_, name = std::string(holder), most] { return server.of_holder(name, most); },
                       std::move(reply), some_fate());
}

void SimEngine::scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
                     Callback<Result<Page>> reply) {
    call<Page>([&server = server_, kind, prefix = std::string(prefix), after = std::string(after),
                most] { return server.scan(kind, prefix, after, most); },
               std::move(reply), some_fate());
}

void SimEngine::overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) {
    call<std::vector<std::string>>([&server = server_, most] { return server.overdue(most); }, std::move(reply),
                                   some_fate());
}

void SimEngine::start(EngineListener& listener) {
    listener_ = &listener;
    reachable_ = server_.reachable();
    if (reachable_) listener.on_reachable({std::to_string(server_.life), server_.position});
}

void SimEngine::stop() {
    listener_ = nullptr;
    auto failing = std::move(failing_);
    failing_.clear();
    for (auto& [number, fail] : failing)
        fail();
}

void SimEngine::hear(const std::string& notice) {
    if (listener_ != nullptr && reachable_) listener_->on_notice(notice);
}

void SimEngine::set_reachable(bool reachable) {
    if (reachable_ == reachable || listener_ == nullptr) return;
    reachable_ = reachable;
    if (reachable) return listener_->on_reachable({std::to_string(server_.life), server_.position});
    ++connection_;
    listener_->on_unreachable({Code::store_unavailable, "the simulated engine is away"});
    auto failing = std::move(failing_);
    failing_.clear();
    for (auto& [number, fail] : failing)
        fail();
}

}  // namespace holdfast::store::cas
