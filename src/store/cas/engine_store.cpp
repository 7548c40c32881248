#include "store/cas/engine_store.h"

#include <algorithm>
#include <memory>

#include "base/assert.h"
#include "lease/manifest.h"
#include "store/cas/cas_loop.h"
#include "store/cas/notice.h"
#include "store/cas/request_number.h"
#include "store/cas/waiter_poller.h"

namespace holdfast::store::cas {

namespace {

constexpr Duration overdue_every = 1s;
constexpr std::size_t max_overdue = 256;
constexpr Duration clock_every = 3s;              ///< keeps the bounds of the engine's time narrow enough
constexpr std::string_view clock_name = "clock";  ///< a document that is never written

// ---- reads of many records, by reads of the engine ----

/// Calls `reply` with the result of `make` for an answer, in this machine's time, or with the error.
template <class Answer, class Value, class Make>
auto answer_by(CasLoop& loop, Callback<Result<Value>> reply, Make make) {
    return loop.alive().guard(
        [&loop, sent = loop.now(), reply = std::move(reply), make = std::move(make)](Result<Answer> answer) mutable {
            const Instant now = loop.read_clock();
            if (!answer)
                reply(loop.unavailable(answer.error().message));
            else if (!loop.take_time(sent, answer->now))
                reply(loop.unavailable("its clock went ahead"));
            else
                reply(make(*answer, Moment{now, answer->now}));
            loop.notify();
        });
}

/// The settled record; an empty one if the bytes cannot be decoded, so that one bad record does not fail a listing.
lease::Record record_in(const NamedValue& entry, const Moment& moment, const ClockRates& rates) {
    const auto kept = decode_stored(entry.value);
    if (!kept) return {};
    lease::Record record = record_here(*kept, moment, rates);
    settle(record, moment.here);
    return record;
}

struct Wanted {
    std::string name_space;
    std::string prefix;
    std::string holder;

    bool matches(std::string_view resource) const {
        const lease::SplitName name = lease::split_name(resource);
        return (name_space.empty() || name.name_space == name_space) && name.resource.starts_with(prefix);
    }
};

/// One read of a holder's leases. The engine may return records in which the holder has nothing any more. So more are
/// requested than wanted, and many more if those were not enough.
struct LeasesRead {
    CasLoop& loop;
    Engine& engine;
    std::string holder;
    Store::Which which;
    std::size_t most;
    Callback<Result<std::vector<lease::LeaseName>>> reply;
    std::size_t records = 64;

    struct Found {
        std::vector<lease::LeaseName> names;
        bool cut = false;
    };
    Found found_in(const FoundRecords& read, const Moment& moment) const {
        Found found{{}, read.cut};
        const auto add = [&](const std::string& resource, const lease::Lease& lease) {
            if (lease.holder == holder && found.names.size() < most) found.names.push_back({resource, lease.token});
        };
        for (const NamedValue& entry : read.entries) {
            const lease::Record record = record_in(entry, moment, loop.rates());
            for (const lease::Lease& lease : record.leases)
                add(entry.name, lease);
            if (which == Store::Which::active) continue;
            for (const lease::Reservation& reserved : record.reserved)
                add(entry.name, reserved.lease);
        }
        return found;
    }
};

void ask(std::shared_ptr<LeasesRead> read) {
    LeasesRead& asked = *read;
    const auto make = [read](const FoundRecords& records, const Moment& moment) {
        return read->found_in(records, moment);
    };
    Callback<Result<LeasesRead::Found>> found = [read](Result<LeasesRead::Found> seen) mutable {
        if (!seen) return read->reply(seen.error());
        const bool enough = seen->names.size() == read->most || !seen->cut || read->records == lease::limits::obstacles;
        if (enough) return read->reply(std::move(seen->names));
        read->records = std::min(8 * read->records, lease::limits::obstacles);
        ask(std::move(read));
    };
    asked.engine.of_holder(asked.holder, asked.records,
                           answer_by<FoundRecords, LeasesRead::Found>(asked.loop, std::move(found), make));
}

constexpr std::size_t first_records = 16;  ///< by which the size of a record is estimated
constexpr int max_scans = 8;

/// One read of a page of a listing. Records may be large: a few are requested first, and then as many as should fit,
/// judged by their size.
struct PageRead {
    CasLoop& loop;
    Engine& engine;
    Wanted wanted;
    std::string prefix;
    std::size_t limit;
    Callback<Result<ListPage>> reply;
    ListPage made;  // with the start of the next scan
    std::size_t records = 0, bytes = 0;
    int scans = 0;

    std::size_t records_to_ask_for() const {
        const std::size_t each = records == 0 ? lease::limits::page_bytes / first_records : bytes / records + 1;
        const std::size_t fit =
            std::max<std::size_t>((lease::limits::page_bytes - std::min(bytes, lease::limits::page_bytes)) / each, 1);
        return std::min(limit - records, fit);
    }
    bool is_done() const {
        return made.next.empty() || records >= limit || bytes >= lease::limits::page_bytes || scans >= max_scans;
    }

    void add(const Page& page, const Moment& moment) {
        for (const NamedValue& entry : page.entries) {
            ++records;
            bytes += entry.name.size() + entry.value.bytes.size();
            if (!wanted.matches(entry.name)) continue;
            lease::Record record = record_in(entry, moment, loop.rates());
            for (lease::Lease& lease : record.leases)
                if (wanted.holder.empty() || lease.holder == wanted.holder)
                    made.leases.push_back({entry.name, std::move(lease)});
        }
        made.next = page.next;
        ++scans;
    }
};

void ask(std::shared_ptr<PageRead> read) {
    PageRead& asked = *read;
    const auto make = [read](const Page& page, const Moment& moment) {
        read->add(page, moment);
        return read->is_done();
    };
    Callback<Result<bool>> then = [read](Result<bool> done) mutable {
        if (!done) return read->reply(done.error());
        if (*done) return read->reply(std::move(read->made));
        ask(std::move(read));
    };
    asked.engine.scan(Kind::record, asked.prefix, asked.made.next, asked.records_to_ask_for(),
                      answer_by<Page, bool>(asked.loop, std::move(then), make));
}

void read_leases_of(CasLoop& loop, Engine& engine, std::string_view holder, Store::Which which, std::size_t most,
                    Callback<Result<std::vector<lease::LeaseName>>> reply) {
    if (!loop.unreachable().empty()) return reply(loop.unavailable(loop.unreachable()));
    auto asked =
        std::make_shared<LeasesRead>(LeasesRead{loop, engine, std::string(holder), which, most, std::move(reply)});
    if (most > asked->records) asked->records = std::min(most, lease::limits::obstacles);
    ask(std::move(asked));
}

void read_page(CasLoop& loop, Engine& engine, const ListQuery& query, Callback<Result<ListPage>> reply) {
    if (!loop.unreachable().empty()) return reply(loop.unavailable(loop.unreachable()));
    Wanted wanted{std::string(query.name_space), std::string(query.prefix), std::string(query.holder)};
    const std::string prefix =
        wanted.name_space.empty() ? std::string{} : lease::full_name(wanted.name_space, wanted.prefix);
    ask(std::make_shared<PageRead>(PageRead{loop, engine, std::move(wanted), prefix, query.limit, std::move(reply),
                                            ListPage{{}, std::string(query.after)}}));
}

}  // namespace

struct EngineStore::Impl {
    explicit Impl(Parts parts)
        : engine(parts.engine),
          listener(parts.listener),
          start(parts.last_write.start),
          loop({.engine = engine,
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
          poller({.listener = listener,
                  .update = [this](std::string_view resource, Update& update) { loop.update(resource, update); },
                  .hash_key = parts.hash_key,
                  .seed = parts.seed + 1,
                  .at_changes = true}) {
        if (parts.clock_offset) loop.resume_clock(*parts.clock_offset);
        HOLDFAST_ASSERT(parts.front > 0 && parts.front <= max_request_origin);
    }

    void tell(std::string_view resource, ChangeKind became, const lease::Lease& lease) {
        if (became == ChangeKind::expired)
            listener.on_expired(resource, lease, std::max(Duration::zero(), loop.now() - lease.expires_at));
        else
            listener.on_changed(resource, lease, as_change(became));
    }

    void on_written(const CasLoop::Written& written) {
        for_each_change(written.decision.before, written.decision.after,
                        [&](ChangeKind became, const lease::Lease& lease) { tell(written.resource, became, lease); });
        if (!written.enqueued.empty()) poller.watch(written.resource, written.enqueued, loop.now());
        if (written.decision.freed) poller.read_now(written.resource, loop.now());
    }

    bool on_notice(std::string_view bytes) {
        const auto notice = decode_notice(bytes);
        if (!notice) return !bytes.empty() && bytes[0] == record_notice_mark;
        if (notice->write.start == start) return true;
        loop.heard_of(notice->resource, notice->write);
        std::vector<lease::Token> incomplete;
        for (const RecordNotice::Change& change : notice->changes) {
            lease::Record one;
            one.leases.push_back(change.lease);
            const bool is_there = change.became == ChangeKind::granted || change.became == ChangeKind::renewed;
            if (notice->cut && is_there && lease::is_reserved(notice->resource))
                incomplete.push_back(change.lease.token);
            else
                tell(notice->resource, change.became, to_absolute({std::move(one)}, loop.now()).leases[0]);
        }
        if (!incomplete.empty()) complete(notice->resource, std::move(incomplete));
        if (notice->freed) poller.read_now(notice->resource, loop.now());
        return true;
    }

    /// A notice had no room for all contents of these leases: reads them from the record.
    void complete(const std::string& resource, std::vector<lease::Token> tokens) {
        auto make = [this, resource, tokens = std::move(tokens), sent = loop.now()](Result<Reading> reading) {
            const Instant now = loop.read_clock();
            if (!reading || !loop.take_time(sent, reading->now)) return loop.notify();
            const auto kept = decode_stored(reading->value);
            if (!kept) return;
            const lease::Record record = record_here(*kept, {now, reading->now}, loop.rates());
            for (const lease::Token token : tokens)
                if (const lease::Lease* lease = record.find(token)) tell(resource, ChangeKind::renewed, *lease);
        };
        engine.fetch(Kind::record, resource, loop.alive().guard(std::move(make)));
    }

    void tidy_overdue() {
        next_overdue = loop.now() + overdue_every;
        const auto tidy = [this](const Result<std::vector<std::string>>& names) {
            if (!names) return;
            loop.read_clock();
            for (const std::string& name : *names)
                loop.tidy(name);
            loop.notify();
        };
        engine.overdue(max_overdue, loop.alive().guard(tidy));
    }

    void ask_for_time() {
        next_clock = loop.now() + clock_every;
        const auto take = [this, sent = loop.now()](const Result<Reading>& reading) {
            if (!reading) return;
            loop.read_clock();
            loop.take_time(sent, reading->now);
            loop.notify();
        };
        engine.fetch(Kind::document, clock_name, loop.alive().guard(take));
    }

    bool advance(std::size_t steps) {
        bool more = loop.advance(steps);
        const bool reachable = loop.unreachable().empty() && !stopped;
        if (reachable && loop.now() >= next_overdue) tidy_overdue();
        if (reachable && loop.now() >= next_clock) ask_for_time();
        if (reachable) more |= poller.advance(loop.now(), steps);
        return more;
    }

    Instant next_due() const {
        const bool reachable = loop.unreachable().empty() && !stopped;
        if (!reachable) return loop.next_due();
        return std::min({loop.next_due(), poller.next_due(), next_overdue, next_clock});
    }

    Engine& engine;
    StoreListener& listener;
    const std::uint64_t start;  ///< of its own writes
    CasLoop loop;
    WaiterPoller poller;
    Instant next_overdue = Instant::min();
    Instant next_clock = Instant::min();
    bool stopped = false;
};

EngineStore::EngineStore(Parts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}

EngineStore::~EngineStore() = default;

bool EngineStore::advance(Instant now, std::size_t steps) {
    impl_->loop.set_time(now);
    const bool more = impl_->advance(steps);
    impl_->loop.notify();
    return more;
}

Instant EngineStore::next_due() const {
    return impl_->next_due();
}

void EngineStore::update(std::string_view resource, Update& update) {
    impl_->loop.update(resource, update);
    impl_->loop.notify();
}

void EngineStore::leases_of(std::string_view holder, Which which, std::size_t most,
                            Callback<Result<std::vector<lease::LeaseName>>> reply) {
    read_leases_of(impl_->loop, impl_->engine, holder, which, most, std::move(reply));
}

void EngineStore::list(const ListQuery& query, Callback<Result<ListPage>> reply) {
    read_page(impl_->loop, impl_->engine, query, std::move(reply));
}

std::size_t EngineStore::active_leases() const {
    return impl_->loop.known().leases();
}

void EngineStore::on_reachable() {
    impl_->loop.on_reachable();
    impl_->next_overdue = impl_->next_clock = impl_->loop.now();
}

void EngineStore::on_unreachable(const Error& why) {
    impl_->loop.on_unreachable(why);
    impl_->loop.notify();
}

void EngineStore::on_lost(const Error& why) {
    impl_->loop.on_lost(why);
    impl_->loop.notify();
}

bool EngineStore::on_notice(std::string_view notice) {
    impl_->loop.read_clock();
    const bool ours = impl_->on_notice(notice);
    impl_->loop.notify();
    return ours;
}

void EngineStore::on_time(Instant sent, EngineTime now) {
    if (impl_->loop.read_clock() < sent) return;
    impl_->loop.take_time(sent, now);
    impl_->loop.notify();
}

std::optional<ClockOffset> EngineStore::clock_offset() const {
    const EngineClockBounds& clock = impl_->loop.clock();
    return clock.known() ? std::optional(clock.offset()) : std::nullopt;
}

void EngineStore::stop() {
    impl_->stopped = true;
    impl_->loop.stop();
    impl_->loop.notify();
}

const EngineStore::Counts& EngineStore::counts() const {
    return impl_->loop.counts();
}

}  // namespace holdfast::store::cas
