#include "store/postgres/pool.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <deque>

#include "base/assert.h"
#include "base/clock.h"
#include "store/postgres/answers.h"
#include "store/postgres/call.h"
#include "store/postgres/schema.h"

namespace holdfast::store::postgres {

/// The maximum number of calls in a group that begins with this one.
std::size_t max_in_group(const Call& call);

/// Sorts the calls of a group by name, the order in which all fronts lock rows. Swaps become one statement; a second
/// swap of the same row goes back to the front of the queue, for another group.
void arrange(Group& group, std::deque<CallPtr>& queue);

namespace {

constexpr std::size_t max_looks = 64;
constexpr std::size_t max_swaps = 512;

/// Swaps of one statement require one marker.
bool may_share(const Call& a, const Call& b) {
    return a.swap.has_value() == b.swap.has_value() && (!a.swap || a.swap->marker == b.swap->marker);
}

bool is_before(const CallPtr& a, const CallPtr& b) {
    const int order = a->name.compare(b->name);
    return order != 0 ? order < 0 : a->is_document < b->is_document;
}

void put_back_doubles(Group& group, std::deque<CallPtr>& queue) {
    std::vector<CallPtr> calls, doubles;
    for (CallPtr& call : group.calls) {
        const bool is_double = !calls.empty() && !is_before(calls.back(), call);
        (is_double ? doubles : calls).push_back(std::move(call));
    }
    group.calls = std::move(calls);
    std::for_each(doubles.rbegin(), doubles.rend(), [&](const CallPtr& call) {
        group.bytes -= call->params.size();
        queue.push_front(call);
    });
}

/// Combines all calls into the parameters of the statement `swap`.
Params together(const std::vector<CallPtr>& calls) {
    std::vector<const Params*> rows;
    std::int32_t makes = 0, changes = 0, ends = 0, tells = 0;
    std::int64_t place = 0, from = calls.front()->swap->from, until = calls.front()->swap->until;
    for (const CallPtr& call : calls) {
        rows.push_back(&call->params);
        makes += call->swap->makes ? 1 : 0;
        ends += call->swap->ends ? 1 : 0;
        changes += call->swap->makes || call->swap->ends ? 0 : 1;
        tells += call->swap->tells ? 1 : 0;
        place = std::max(place, call->swap->position);
        from = std::max(from, call->swap->from);
        until = std::min(until, call->swap->until);
    }
    const Call& first = *calls.front();
    HOLDFAST_ASSERT(!first.no_wait || calls.size() == 1);
    constexpr std::array<Type, 12> types{Type::small, Type::bytea, Type::id,  Type::id,  Type::big,  Type::big,
                                         Type::big,   Type::bytea, Type::big, Type::big, Type::text, Type::text};
    Params all;
    for (std::size_t i = 0; i < types.size(); ++i)
        all.column(rows, i, types[i]);
    const cas::WriteId marker = first.swap->marker, last_marker{marker.start, ~std::uint64_t{0}};
    all.big(from)
        .big(until)
        .bytes(marker.bytes())
        .bytes(last_marker.bytes())
        .big(place)
        .number(makes)
        .number(changes)
        .number(ends)
        .number(tells)
        .truth(first.no_wait);
    return all;
}

}  // namespace

std::size_t max_in_group(const Call& call) {
    if (call.alone) return 1;
    return call.swap ? max_swaps : max_looks;
}

void arrange(Group& group, std::deque<CallPtr>& queue) {
    std::stable_sort(group.calls.begin(), group.calls.end(), is_before);
    if (!group.calls.front()->swap) return;
    put_back_doubles(group, queue);
    group.swap = together(group.calls);
}

namespace {

constexpr std::size_t max_group_bytes = 512 * 1024;
constexpr std::size_t max_groups = 16;  // in flight on one connection
constexpr std::size_t max_connection_bytes = 4 * 1024 * 1024;
constexpr std::size_t max_locked = 1000;
constexpr Duration reconnect_first = 50ms, reconnect_last = 1s;
constexpr Duration doubt_pause = 1s;
constexpr std::size_t max_left = 64;
constexpr Duration locked_first = 10ms, locked_last = 200ms;

bool is_of_class(const std::string& state, std::string_view code) {
    return state.starts_with(code);
}

/// The session is unusable: the schema is gone or has changed, or the server has become read-only.
bool is_for_good(const std::string& state) {
    return is_of_class(state, "42") || is_of_class(state, "3F") || is_of_class(state, "26") ||
           is_of_class(state, "0A") || is_of_class(state, "08") || is_of_class(state, "25");
}

/// Raised by swap() when the marker or the position is not as required.
bool is_lost(const std::string& state) {
    return state == "HF001";
}

bool is_locked(const std::string& state) {
    return state == "55P03";
}

/// A conflict with another transaction; a retry may succeed.
bool is_passing(const std::string& state) {
    return is_of_class(state, "40") || is_locked(state);
}

std::string why_passing(const Failure& failure) {
    if (!is_locked(failure.state)) return failure.message;
    return "somebody else has this row or the table locked: " + failure.message;
}

void wait_never(Call& call) {
    call.alone = call.no_wait = true;
    if (!call.swap) call.params.replace_last_truth(true);
}

}  // namespace

Pool::Pool(boost::asio::io_context& loop, Owner& owner, Settings settings)
    : loop_(loop),
      owner_(owner),
      settings_(std::move(settings)),
      listener_settings_(settings_.connection),
      timer_(loop),
      random_(random_seed()) {
    listener_settings_.listens = true;
    slots_.resize(1 + settings_.connections);
    for (Slot& slot : slots_)
        slot.timer = std::make_unique<boost::asio::steady_timer>(loop);
}

Pool::~Pool() {
    stop();
    *alive_ = false;
}

void Pool::start() {
    running_ = true;
    connect(slots_.front());
}

void Pool::stop() {
    if (!running_) return;
    running_ = false;
    timer_.cancel();
    why_not_ = "it was stopped";
    told_ = Told::unreachable;
    for (Slot& slot : slots_) {
        slot.timer->cancel();
        if (slot.connection) std::shared_ptr(slot.connection)->close(why_not_);
    }
    looks_.clear();
    writes_.clear();
    while (!all_.empty())
        refuse(CallPtr(all_.front()), why_not_);
}

std::size_t Pool::open() const {
    return static_cast<std::size_t>(std::count_if(slots_.begin() + 1, slots_.end(), [](const Slot& slot) {
        return slot.connection && slot.connection->ready();
    }));
}

// ---- connections ----

void Pool::connect(Slot& slot) {
    slot.waiting = false;
    Connection::Owner& owner = *this;
    slot.connection = std::make_shared<Connection>(
        loop_, owner, &slot == &slots_.front() ? listener_settings_ : settings_.connection);
    slot.connection->start();
}

void Pool::connect_later(Slot& slot) {
    if (slot.waiting) return;
    slot.waiting = true;
    slot.pause = std::clamp(slot.pause * 2, reconnect_first, reconnect_last);
    slot.timer->expires_after(std::chrono::duration_cast<Duration>(slot.pause * (0.5 + 0.5 * random_.unit())));
    slot.timer->async_wait([this, &slot, alive = alive_](boost::system::error_code error) {
        if (error || !*alive || !running_) return;
        slot.waiting = false;
        if (!slot.connection && may_connect(slot)) connect(slot);
    });
}

/// The other connections are opened only once one works: then the schema exists, and writes do not hang.
bool Pool::may_connect(const Slot& slot) const {
    const auto& listener = slots_.front().connection;
    if (&slot == &slots_.front()) return true;
    return listener && listener->ready() && (&slot == &slots_[1] || open() > 0);
}

void Pool::connect_missing() {
    for (Slot& slot : slots_)
        if (!slot.connection && !slot.waiting && may_connect(slot)) connect(slot);
}

Pool::Slot* Pool::slot_of(const Connection& connection) {
    const auto found = std::find_if(slots_.begin(), slots_.end(),
                                    [&](const Slot& slot) { return slot.connection.get() == &connection; });
    return found == slots_.end() ? nullptr : &*found;
}

void Pool::on_ready(Connection& connection) {
    for (Slot& slot : slots_) {
        if (slot.connection.get() == &connection) {
            slot.pause = {};
            continue;
        }
        if (slot.connection && slot.connection->ready() && slot.connection->hello().life != connection.hello().life)
            std::shared_ptr(slot.connection)->close("another server, or another life of it, answers now");
    }
    if (connection.listens()) end_left();
    connect_missing();
    tell_reachable();
    dispatch_soon();
}

void Pool::on_closed(Connection& connection, const std::string& why, std::vector<Group> lost) {
    for (Slot& slot : slots_) {
        if (slot.connection.get() != &connection) continue;
        slot.connection.reset();
        slot.doubted = false;
        if (running_ && may_connect(slot)) connect_later(slot);
    }
    if (running_) tell_unreachable(why);
    for (const Group& group : lost)
        for (const CallPtr& call : group.calls)
            refuse(call, why);
    dispatch_soon();
}

void Pool::on_stalled(Connection& connection) {
    if (connection.backend().pid == 0 || connection.listens()) return connection.close(no_answer);
    doubt_all();
    end(connection.backend(), [weak = connection.weak_from_this()](const std::string& waits_for) {
        if (const auto stalled = weak.lock()) stalled->close(waits_for.empty() ? no_answer : waits_for);
    });
}

/// Terminates a server process. If the listening connection is missing or does not answer, its successor does it.
void Pool::end(const Backend& backend, std::function<void(const std::string& waits_for)> done) {
    auto call = std::make_shared<Call>();
    call->statement = statement::end;
    call->params.number(backend.pid).big(backend.started);
    call->reply = [this, backend, done](Result<Rows> rows) {
        if (!rows && left_.size() < max_left) left_.push_back(backend);
        done(rows ? wait_in(*rows) : std::string());
    };
    if (!call_by_listener({call})) refuse(call, why_not_);
}

void Pool::end_left() {
    for (const Backend& backend : std::exchange(left_, {}))
        end(backend, [](const std::string&) {});
}

/// Calls fail or time out: possibly no connection can write at the moment.
void Pool::doubt_all() {
    const Instant now = store_clock_now();
    if (now < doubt_from_) return;
    doubt_from_ = now + doubt_pause;
    for (std::size_t i = 1; i < slots_.size(); ++i) {
        if (!slots_[i].connection || !slots_[i].connection->ready()) continue;
        slots_[i].doubted = true;
        prove(slots_[i]);
    }
}

void Pool::prove(Slot& slot) {
    if (slot.connection->under_way() > 0) return;
    Group group;
    group.calls.push_back(std::make_shared<Call>());
    group.calls.back()->statement = statement::probe;
    std::shared_ptr(slot.connection)->send(std::move(group));
}

bool Pool::works() const {
    const auto& listener = slots_.front().connection;
    return listener && listener->ready() && open() > 0;
}

void Pool::tell_reachable() {
    if (told_ == Told::reachable || !works()) return;
    told_ = Told::reachable;
    owner_.on_reachable(slots_.front().connection->hello());
}

void Pool::tell_unreachable(const std::string& why) {
    if (works()) return;
    const bool is_another = std::exchange(why_not_, why) != why;
    if (std::exchange(told_, Told::unreachable) == Told::unreachable && !is_another) return;
    refuse_waiting();
    owner_.on_unreachable(why_not_);
}

void Pool::on_notify(std::string_view payload) {
    if (running_) owner_.on_payload(payload);
}

// ---- calls ----

void Pool::call(CallPtr call) {
    const std::size_t size = call->params.size();
    if (!reachable() || all_.size() >= settings_.max_calls || bytes_ + size > settings_.max_bytes) {
        std::string why = reachable() ? "too much is under way already" : why_not_;
        boost::asio::post(loop_, [this, call = std::move(call), why = std::move(why), alive = alive_] {
            if (*alive) refuse(call, why);
        });
        return;
    }
    call->until = store_clock_now() + settings_.connection.answer_within;
    wait_for_no_lock(*call);
    bytes_ += size;
    call->place = all_.insert(all_.end(), call);
    (call->writes ? writes_ : looks_).push_back(std::move(call));
    watch_time();
    dispatch_soon();
}

bool Pool::call_by_listener(std::vector<CallPtr> calls) {
    const auto connection = slots_.front().connection;
    if (!connection || !connection->ready()) return false;
    Group group;
    group.calls = std::move(calls);
    connection->send(std::move(group));
    return true;
}

void Pool::dispatch_soon() {
    if (dispatch_posted_) return;
    dispatch_posted_ = true;
    boost::asio::post(loop_, [this, alive = alive_] {
        if (!*alive) return;
        dispatch_posted_ = false;
        dispatch();
    });
}

/// Alternates between reads and writes, so that neither starves the other.
void Pool::dispatch() {
    for (bool sent = true; sent;) {
        Queue& first = looks_are_next_ ? looks_ : writes_;
        Queue& second = looks_are_next_ ? writes_ : looks_;
        sent = send_from(first);
        if (sent)
            looks_are_next_ = !looks_are_next_;
        else
            sent = send_from(second);
    }
}

bool Pool::send_from(Queue& queue) {
    while (!queue.empty() && !queue.front()->reply)
        queue.pop_front();
    if (queue.empty()) return false;
    const auto connection = free_connection(queue.size() >= max_in_group(*queue.front()));
    if (connection == nullptr) return false;
    connection->send(take_group(queue));
    return true;
}

/// Returns an idle connection or, for a full group, the least busy one with room. Smaller groups wait, so that they
/// grow.
std::shared_ptr<Connection> Pool::free_connection(bool group_is_full) const {
    std::shared_ptr<Connection> best;
    for (std::size_t i = 1; i < slots_.size(); ++i) {
        const auto& connection = slots_[i].connection;
        if (!connection || !connection->ready() || slots_[i].doubted) continue;
        if (!best || connection->under_way() < best->under_way()) best = connection;
    }
    if (!best || best->under_way() == 0) return best;
    const bool has_room = best->under_way() < max_groups && best->bytes_under_way() < max_connection_bytes;
    return group_is_full && has_room ? best : nullptr;
}

Group Pool::take_group(Queue& queue) {
    Group group;
    const std::size_t most = max_in_group(*queue.front());
    while (!queue.empty() && group.calls.size() < most && group.bytes < max_group_bytes) {
        const CallPtr call = queue.front();
        wait_for_no_lock(*call);
        if (call->alone && !group.calls.empty()) break;
        if (!group.calls.empty() && !may_share(*call, *group.calls.front())) break;
        queue.pop_front();
        if (!call->reply) continue;
        group.bytes += call->params.size();
        group.calls.push_back(call);
        if (call->alone) break;
    }
    if (!group.calls.empty()) arrange(group, queue);
    return group;
}

void Pool::on_group(Connection& connection, Group group) {
    const Duration took = store_clock_now() - group.sent_at;
    round_trip_ = round_trip_ == Duration{} ? took : (round_trip_ * 7 + took) / 8;
    if (group.failed) {
        on_failure(connection, group);
    } else {
        auto parts = Result<std::vector<Rows>>(std::vector<Rows>());
        if (group.swap) parts = parts_in(*group.answers.front(), group.calls.size());
        for (std::size_t i = 0; i < group.calls.size(); ++i) {
            if (group.calls[i]->writes && !locked_.empty()) locked_.erase(group.calls[i]->name);
            if (!parts)
                answer(group.calls[i], parts.error());
            else
                answer(group.calls[i], group.swap ? (*parts)[i] : *group.answers[i]);
        }
    }
    Slot* const slot = slot_of(connection);
    if (slot != nullptr && slot->doubted && connection.ready()) {
        const bool is_proved = group.calls.front()->statement == statement::probe;
        is_proved ? void(slot->doubted = false) : prove(*slot);
    }
    dispatch();
}

/// Nothing of the group took effect, so every call in it may be retried.
void Pool::on_failure(Connection& connection, Group& group) {
    const Failure& failure = *group.failed;
    const bool is_probe = group.calls.front()->statement == statement::probe;
    if (is_for_good(failure.state) || is_probe) {
        for (const CallPtr& call : group.calls)
            refuse(call, failure.message);
        connection.close(is_passing(failure.state) ? why_passing(failure) : failure.message);
        return doubt_all();
    }
    if (is_lost(failure.state)) {
        for (const CallPtr& call : group.calls)
            answer(call, Error{Code::store_lost, "PostgreSQL: " + failure.message});
        return;
    }
    const bool was_alone = group.calls.size() == 1;
    if (was_alone && !is_passing(failure.state)) {
        refuse(group.calls.front(), failure.message);
        return doubt_all();
    }
    // The first call without a reply is the one that failed. If all have one, the commit failed.
    const auto failed = std::find(group.answers.begin(), group.answers.end(), std::nullopt) - group.answers.begin();
    for (std::size_t i = 0; i < group.calls.size(); ++i) {
        const CallPtr& call = group.calls[i];
        const bool is_it = was_alone || (!group.swap && static_cast<std::ptrdiff_t>(i) == failed);
        if (is_it && is_locked(failure.state) && call->locks) {
            if (locked_.size() >= max_locked) locked_.clear();
            locked_.insert(call->name);
        }
        if (is_passing(failure.state)) call->why = why_passing(failure);
        if (is_it || group.swap || !is_locked(failure.state)) call->alone = true;
        if (group.swap && is_locked(failure.state))
            wait_never(*call);  // one of them would wait, but it is not known which
        wait_for_no_lock(*call);
        call->pause = was_alone ? std::clamp(call->pause * 2, locked_first, locked_last) : Duration{};
        again(call, call->pause);
    }
}

/// Other calls must not queue behind one that waits for a row known to be locked.
void Pool::wait_for_no_lock(Call& call) const {
    if (!call.locks || locked_.empty() || !locked_.contains(call.name)) return;
    wait_never(call);
}

void Pool::again(const CallPtr& call, Duration pause) {
    if (!call->reply) return;
    if (!call->place) return refuse(call, "it was not possible");
    if (pause == Duration{}) return (call->writes ? writes_ : looks_).push_back(call);
    const auto timer = std::make_shared<boost::asio::steady_timer>(loop_, pause);
    timer->async_wait([this, call, timer, alive = alive_](boost::system::error_code) {
        if (!*alive || !call->reply) return;
        if (!reachable()) return refuse(call, why_not_);
        (call->writes ? writes_ : looks_).push_back(call);
        dispatch_soon();
    });
}

void Pool::answer(const CallPtr& call, Result<Rows> result) {
    if (!call->reply) return;
    if (call->place) {
        bytes_ -= call->params.size();
        all_.erase(*std::exchange(call->place, std::nullopt));
    }
    auto reply = std::move(call->reply);
    reply(std::move(result));
}

void Pool::refuse(const CallPtr& call, const std::string& why) {
    answer(call, Error{Code::store_unavailable, "PostgreSQL: " + why});
}

void Pool::refuse_waiting() {
    for (Queue* queue : {&looks_, &writes_}) {
        Queue calls;
        calls.swap(*queue);
        for (const CallPtr& call : calls)
            refuse(call, why_not_);
    }
}

void Pool::watch_time() {
    if (timer_runs_ || all_.empty()) return;
    timer_runs_ = true;
    timer_.expires_after(std::max<Duration>(all_.front()->until - store_clock_now(), 1ms));
    timer_.async_wait([this, alive = alive_](boost::system::error_code) {
        if (!*alive) return;
        timer_runs_ = false;
        if (running_) on_time();
    });
}

void Pool::on_time() {
    const Instant now = store_clock_now();
    const bool is_late = !all_.empty() && all_.front()->until <= now;
    while (!all_.empty() && all_.front()->until <= now)
        refuse(CallPtr(all_.front()), all_.front()->why.empty() ? "it did not answer in time" : all_.front()->why);
    if (is_late) doubt_all();
    watch_time();
}

}  // namespace holdfast::store::postgres
