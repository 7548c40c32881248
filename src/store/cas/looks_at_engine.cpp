#include "store/cas/looks_at_engine.h"

#include <algorithm>
#include <memory>

#include "lease/manifest.h"

namespace holdfast::core {
namespace {

/// Calls `reply` with what `make` makes of an answer, in this machine's time, or with why there is none.
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

/// One look for a holder's leases. The engine may show records in which the holder has nothing any more; so it is asked
/// for more than are wanted, and again for many more if those were not enough.
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

constexpr std::size_t max_page_bytes = 256 * 1024;  ///< of records, after which a page ends
constexpr std::size_t first_records = 16;           ///< that tell how large they are
constexpr int max_scans = 8;

/// One look for a page of a listing. Records may be large: some are asked for first, and then as many as there is room
/// for, judged by those.
struct PageLook {
    CasLoop& swaps;
    Engine& engine;
    Wanted wanted;
    std::string prefix;
    std::size_t limit;
    Callback<Result<ListPage>> reply;
    ListPage made;  // with where the next scan begins
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

}  // namespace

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

}  // namespace holdfast::core
