#include "store/cas/engine_store.h"

#include <algorithm>
#include <memory>

#include "base/assert.h"
#include "lease/manifest.h"
#include "store/cas/cas_loop.h"
#include "store/cas/notice.h"
#include "store/cas/waiter_poller.h"

namespace holdfast::core {

namespace {

constexpr Duration overdue_every = 1s;
constexpr std::size_t max_overdue = 256;
constexpr Duration clock_every = 3s;              ///< keeps the bounds of the engine's time narrow enough
constexpr std::string_view clock_name = "clock";  ///< a document that is never written

// ---- reads of many records, by reads of the engine ----

/// Calls `reply` with the result of `make` for an answer, in this machine's time, or with the error.
template <class Answer, class Value, class Make>
auto answer_by(CasLoop& swaps, Callback<Result<Value>> reply, Make make) {
    return [&swaps, alive = swaps.alive(), sent = swaps.now(), reply = std::move(reply),
            make = std::move(make)](Result<Answer> answer) mutable {
        if (alive.expired()) return;
        const Instant now = swaps.read_clock();
        if (!answer)
            reply(swaps.unavailable(answer.error().message));
        else if (!swaps.take_time(sent, answer->now))
            reply(swaps.unavailable("its clock went ahead"));
        else
            reply(make(*answer, Moment{now, answer->now}));
        swaps.tell();
    };
}

/// The settled record; an empty one if the bytes cannot be decoded, so that one bad record does not fail a listing.
Record record_in(const NamedKept& entry, const Moment& moment, const ClockRates& rates) {
    const auto kept = decode_kept(entry.kept);
    if (!kept) return {};
    Record record = record_here(*kept, moment, rates);
    settle(record, moment.here);
    return record;
}

struct Wanted {
    std::string name_space;
    std::string prefix;
    std::string holder;

    bool matches(std::string_view resource) const {
        const SplitName name = split_name(resource);
        return (name_space.empty() || name.name_space == name_space) && name.resource.starts_with(prefix);
    }
};

/// One read of a holder's leases. The engine may return records in which the holder has nothing any more. So more are
/// requested than wanted, and many more if those were not enough.
struct LeasesLook {
    CasLoop& swaps;
    Engine& engine;
    std::string holder;
    Store::Which which;
    std::size_t most;
    Callback<Result<std::vector<LeaseName>>> reply;
    std::size_t records = 64;

    struct Found {
        std::vector<LeaseName> names;
        bool cut = false;
    };
    Found found_in(const Sight& sight, const Moment& moment) const {
        Found found{{}, sight.cut};
        const auto add = [&](const std::string& resource, const Lease& lease) {
            if (lease.holder == holder && found.names.size() < most) found.names.push_back({resource, lease.token});
        };
        for (const NamedKept& entry : sight.entries) {
            const Record record = record_in(entry, moment, swaps.rates());
            for (const Lease& lease : record.leases)
                add(entry.name, lease);
            if (which == Store::Which::active) continue;
            for (const Reservation& reserved : record.reserved)
                add(entry.name, reserved.lease);
        }
        return found;
    }
};

void ask(std::shared_ptr<LeasesLook> look) {
    LeasesLook& asked = *look;
    const auto make = [look](const Sight& sight, const Moment& moment) { return look->found_in(sight, moment); };
    Callback<Result<LeasesLook::Found>> found = [look](Result<LeasesLook::Found> seen) mutable {
        if (!seen) return look->reply(seen.error());
        const bool enough = seen->names.size() == look->most || !seen->cut || look->records == limits::obstacles;
        if (enough) return look->reply(std::move(seen->names));
        look->records = std::min(8 * look->records, limits::obstacles);
        ask(std::move(look));
    };
    asked.engine.of_holder(asked.holder, asked.records,
                           answer_by<Sight, LeasesLook::Found>(asked.swaps, std::move(found), make));
}

constexpr std::size_t max_page_bytes = 256 * 1024;  ///< of records; then a page ends
constexpr std::size_t first_records = 16;           ///< by which the size of a record is estimated
constexpr int max_scans = 8;

/// One read of a page of a listing. Records may be large: a few are requested first, and then as many as should fit,
/// judged by their size.
struct PageLook {
    CasLoop& swaps;
    Engine& engine;
    Wanted wanted;
    std::string prefix;
    std::size_t limit;
    Callback<Result<ListPage>> reply;
    ListPage made;  // with the start of the next scan
    std::size_t records = 0, bytes = 0;
    int scans = 0;

    std::size_t records_to_ask_for() const {
        const std::size_t each = records == 0 ? max_page_bytes / first_records : bytes / records + 1;
        const std::size_t fit = std::max<std::size_t>((max_page_bytes - std::min(bytes, max_page_bytes)) / each, 1);
        return std::min(limit - records, fit);
    }
    bool is_done() const {
        return made.next.empty() || records >= limit || bytes >= max_page_bytes || scans >= max_scans;
    }

    void add(const Page& page, const Moment& moment) {
        for (const NamedKept& entry : page.entries) {
            ++records;
            bytes += entry.name.size() + entry.kept.bytes.size();
            if (!wanted.matches(entry.name)) continue;
            Record record = record_in(entry, moment, swaps.rates());
            for (Lease& lease : record.leases)
                if (wanted.holder.empty() || lease.holder == wanted.holder)
                    made.leases.push_back({entry.name, std::move(lease)});
        }
        made.next = page.next;
        ++scans;
    }
};

void ask(std::shared_ptr<PageLook> look) {
    PageLook& asked = *look;
    const auto make = [look](const Page& page, const Moment& moment) {
        look->add(page, moment);
        return look->is_done();
    };
    Callback<Result<bool>> then = [look](Result<bool> done) mutable {
        if (!done) return look->reply(done.error());
        if (*done) return look->reply(std::move(look->made));
        ask(std::move(look));
    };
    asked.engine.scan(Kind::record, asked.prefix, asked.made.next, asked.records_to_ask_for(),
                      answer_by<Page, bool>(asked.swaps, std::move(then), make));
}

void look_for_leases_of(CasLoop& swaps, Engine& engine, std::string_view holder, Store::Which which, std::size_t most,
                        Callback<Result<std::vector<LeaseName>>> reply) {
    if (!swaps.unreachable().empty()) return reply(swaps.unavailable(swaps.unreachable()));
    auto look =
        std::make_shared<LeasesLook>(LeasesLook{swaps, engine, std::string(holder), which, most, std::move(reply)});
    if (most > look->records) look->records = std::min(most, limits::obstacles);
    ask(std::move(look));
}

void look_for_page(CasLoop& swaps, Engine& engine, const ListQuery& query, Callback<Result<ListPage>> reply) {
    if (!swaps.unreachable().empty()) return reply(swaps.unavailable(swaps.unreachable()));
    Wanted wanted{std::string(query.name_space), std::string(query.prefix), std::string(query.holder)};
    const std::string prefix = wanted.name_space.empty() ? std::string{} : full_name(wanted.name_space, wanted.prefix);
    ask(std::make_shared<PageLook>(PageLook{swaps, engine, std::move(wanted), prefix, query.limit, std::move(reply),
                                            ListPage{{}, std::string(query.after)}}));
}

}  // namespace

struct EngineStore::Impl {
    explicit Impl(Parts parts)
        : engine(parts.engine),
          listener(parts.listener),
          start(parts.last_write.start),
          swaps({.engine = engine,
                 .listener = listener,
                 .hash_key = parts.hash_key,
                 .front = parts.front,
                 .last_write = parts.last_write,
                 .seed = parts.seed,
                 .give_up_after = parts.give_up_after,
                 .max_records = parts.max_records,
                 .last_token = std::move(parts.last_token),
                 .why_no_token = std::move(parts.why_no_token),
                 .token_given = std::move(parts.on_token_given),
                 .clock = std::move(parts.clock),
                 .stepped = std::move(parts.on_clock_stepped),
                 .vanished = std::move(parts.on_vanished),
                 .written = [this](const CasLoop::Written& written) { on_written(written); },
                 .shown_wall_ms = std::move(parts.shown_wall_ms)}),
          turns({.listener = listener,
                 .update = [this](std::string_view resource, Update& update) { swaps.update(resource, update); },
                 .hash_key = parts.hash_key,
                 .seed = parts.seed + 1,
                 .at_changes = true}) {
        if (parts.clock_offset) swaps.resume_clock(*parts.clock_offset);
        HOLDFAST_ASSERT(parts.front > 0 && parts.front < std::uint64_t{1} << 24);
    }

    void tell(std::string_view resource, ChangeKind became, const Lease& lease) {
        if (became == ChangeKind::expired)
            listener.on_expired(resource, lease, std::max(Duration::zero(), swaps.now() - lease.expires_at));
        else
            listener.on_changed(resource, lease, as_change(became));
    }

    void on_written(const CasLoop::Written& written) {
        for_each_change(written.decision.before, written.decision.after,
                        [&](ChangeKind became, const Lease& lease) { tell(written.resource, became, lease); });
        if (!written.enqueued.empty()) turns.watch(written.resource, written.enqueued, swaps.now());
        if (written.decision.freed) turns.look_now(written.resource, swaps.now());
    }

    bool on_notice(std::string_view bytes) {
        const auto notice = decode_notice(bytes);
        if (!notice) return !bytes.empty() && bytes[0] == record_notice_mark;
        if (notice->write.start == start) return true;
        swaps.heard_of(notice->resource, notice->write);
        std::vector<Token> incomplete;
        for (const RecordNotice::Change& change : notice->changes) {
            Record one;
            one.leases.push_back(change.lease);
            const bool is_there = change.became == ChangeKind::granted || change.became == ChangeKind::renewed;
            if (notice->cut && is_there && is_reserved(notice->resource))
                incomplete.push_back(change.lease.token);
            else
                tell(notice->resource, change.became, arrive({std::move(one)}, swaps.now()).leases[0]);
        }
        if (!incomplete.empty()) complete(notice->resource, std::move(incomplete));
        if (notice->freed) turns.look_now(notice->resource, swaps.now());
        return true;
    }

    /// A notice had no room for all contents of these leases: reads them from the record.
    void complete(const std::string& resource, std::vector<Token> tokens) {
        const auto make = [this, resource, tokens = std::move(tokens), alive = swaps.alive(),
                           sent = swaps.now()](Result<Reading> reading) {
            if (alive.expired()) return;
            const Instant now = swaps.read_clock();
            if (!reading || !swaps.take_time(sent, reading->now)) return swaps.tell();
            const auto kept = decode_kept(reading->kept);
            if (!kept) return;
            const Record record = record_here(*kept, {now, reading->now}, swaps.rates());
            for (const Token token : tokens)
                if (const Lease* lease = record.find(token)) tell(resource, ChangeKind::renewed, *lease);
        };
        engine.fetch(Kind::record, resource, make);
    }

    void look_for_overdue() {
        next_overdue = swaps.now() + overdue_every;
        engine.overdue(max_overdue, [this, alive = swaps.alive()](const Result<std::vector<std::string>>& names) {
            if (alive.expired() || !names) return;
            swaps.read_clock();
            for (const std::string& name : *names)
                swaps.tidy(name);
            swaps.tell();
        });
    }

    void ask_for_time() {
        next_clock = swaps.now() + clock_every;
        engine.fetch(Kind::document, clock_name,
                     [this, alive = swaps.alive(), sent = swaps.now()](const Result<Reading>& reading) {
                         if (alive.expired() || !reading) return;
                         swaps.read_clock();
                         swaps.take_time(sent, reading->now);
                         swaps.tell();
                     });
    }

    bool advance(std::size_t steps) {
        bool more = swaps.advance(steps);
        const bool reachable = swaps.unreachable().empty() && !stopped;
        if (reachable && swaps.now() >= next_overdue) look_for_overdue();
        if (reachable && swaps.now() >= next_clock) ask_for_time();
        if (reachable) more |= turns.advance(swaps.now(), steps);
        return more;
    }

    Instant next_due() const {
        const bool reachable = swaps.unreachable().empty() && !stopped;
        if (!reachable) return swaps.next_due();
        return std::min({swaps.next_due(), turns.next_due(), next_overdue, next_clock});
    }

    Engine& engine;
    StoreListener& listener;
    const std::uint64_t start;  ///< of its own writes
    CasLoop swaps;
    WaiterPoller turns;
    Instant next_overdue = Instant::min();
    Instant next_clock = Instant::min();
    bool stopped = false;
};

EngineStore::EngineStore(Parts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}

EngineStore::~EngineStore() = default;

bool EngineStore::advance(Instant now, std::size_t steps) {
    impl_->swaps.set_time(now);
    const bool more = impl_->advance(steps);
    impl_->swaps.tell();
    return more;
}

Instant EngineStore::next_due() const {
    return impl_->next_due();
}

void EngineStore::update(std::string_view resource, Update& update) {
    impl_->swaps.update(resource, update);
    impl_->swaps.tell();
}

void EngineStore::leases_of(std::string_view holder, Which which, std::size_t most,
                            Callback<Result<std::vector<LeaseName>>> reply) {
    look_for_leases_of(impl_->swaps, impl_->engine, holder, which, most, std::move(reply));
}

void EngineStore::list(const ListQuery& query, Callback<Result<ListPage>> reply) {
    look_for_page(impl_->swaps, impl_->engine, query, std::move(reply));
}

std::size_t EngineStore::active_leases() const {
    return impl_->swaps.known().leases();
}

void EngineStore::on_reachable() {
    impl_->swaps.on_reachable();
    impl_->next_overdue = impl_->next_clock = impl_->swaps.now();
}

void EngineStore::on_unreachable(const Error& why) {
    impl_->swaps.on_unreachable(why);
    impl_->swaps.tell();
}

void EngineStore::on_lost(const Error& why) {
    impl_->swaps.on_lost(why);
    impl_->swaps.tell();
}

bool EngineStore::on_notice(std::string_view notice) {
    impl_->swaps.read_clock();
    const bool ours = impl_->on_notice(notice);
    impl_->swaps.tell();
    return ours;
}

void EngineStore::on_time(Instant sent, EngineTime now) {
    if (impl_->swaps.read_clock() < sent) return;
    impl_->swaps.take_time(sent, now);
    impl_->swaps.tell();
}

std::optional<ClockOffset> EngineStore::clock_offset() const {
    const EngineClockBounds& clock = impl_->swaps.clock();
    return clock.known() ? std::optional(clock.offset()) : std::nullopt;
}

void EngineStore::stop() {
    impl_->stopped = true;
    impl_->swaps.stop();
    impl_->swaps.tell();
}

const EngineStore::Counts& EngineStore::counts() const {
    return impl_->swaps.counts();
}

}  // namespace holdfast::core
