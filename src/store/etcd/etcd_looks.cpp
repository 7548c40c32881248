#include "store/etcd/etcd_looks.h"

#include <algorithm>

#include "etcd.pb.h"

namespace holdfast::etcd {

using core::Kind;
using core::Page;
using core::Reading;
using core::Sight;

namespace {

constexpr std::size_t ranges_each = 100;  // etcd allows 128 in one transaction
constexpr std::size_t names_each = 1000;

/// Keeps a page small enough for one reply: a value has at most 1.5 MiB.
std::size_t max_page(Kind kind) {
    return kind == Kind::record ? 500 : 32;
}

}  // namespace

void EtcdLooks::fetch(Kind kind, std::string_view name, Callback<Result<Reading>> reply) {
    RangeRequest request;
    request.set_key(front_.keys.key(kind, name));
    auto on_answer = [this, key = request.key(), reply = std::move(reply)](const GrpcAnswer& answer) mutable {
        const auto response = understood<RangeResponse>(answer);
        if (!response) return reply(response.error());
        const std::int64_t revision = response->header().revision();
        auto shown = front_.take_note(key, *response, revision);
        if (!shown) return reply(shown.error());
        reply(Reading{std::move(shown->kept), Front::now(), 0, static_cast<core::Position>(revision)});
    };
    front_.link.call(method::range, request, std::move(on_answer));
}

struct EtcdLooks::Gathering {
    Sight sight;
    std::size_t most = 0;
    std::size_t parts = 0;  ///< outstanding
    Callback<Result<Sight>> reply;
};

void EtcdLooks::gather(const std::vector<KeyRange>& ranges, std::size_t most, Callback<Result<Sight>> reply) {
    const auto gathered = std::make_shared<Gathering>();
    gathered->most = most;
    gathered->parts = std::max<std::size_t>(1, (ranges.size() + ranges_each - 1) / ranges_each);
    gathered->reply = std::move(reply);
    for (std::size_t part = 0; part < gathered->parts; ++part) {
        TxnRequest request;
        for (std::size_t i = part * ranges_each; i < std::min(ranges.size(), (part + 1) * ranges_each); ++i) {
            RangeRequest& range = *request.add_success()->mutable_request_range();
            range.set_key(ranges[i].first);
            range.set_range_end(ranges[i].end);
            range.set_limit(static_cast<std::int64_t>(most) + 1);
        }
        front_.link.call(method::txn, request,
                         [this, gathered](const GrpcAnswer& answer) { on_part(gathered, answer); });
    }
}

void EtcdLooks::on_part(const Gathered& gathered, const GrpcAnswer& answer) {
    --gathered->parts;
    if (!gathered->reply) return;  // another part has failed
    const auto give_up = [&](const Error& error) {
        if (gathered->reply) std::exchange(gathered->reply, {})(error);  // else it failed with the connection
    };
    const auto response = understood<TxnResponse>(answer);
    if (!response) return give_up(response.error());
    for (const ResponseOp& op : response->responses()) {
        if (!op.has_response_range()) return give_up(unavailable("the answer to a look cannot be understood"));
        for (const KeyValue& pair : op.response_range().kvs())
            if (auto added = add(gathered->sight, pair, response->header().revision()); !added)
                return give_up(added.error());
        gathered->sight.cut |= op.response_range().more();
    }
    if (gathered->parts > 0) return;
    Sight& sight = gathered->sight;
    if (sight.entries.size() > gathered->most) {
        sight.entries.resize(gathered->most);
        sight.cut = true;
    }
    sight.now = Front::now();
    std::exchange(gathered->reply, {})(std::move(sight));
}

Result<void> EtcdLooks::add(Sight& sight, const KeyValue& pair, std::int64_t at) {
    auto shown = front_.take_note(pair, at);
    if (!shown) return shown.error();
    const auto named = front_.keys.named(pair.key());
    if (!named) return unavailable("the answer to a look is about something else");
    if (shown->kept.write != 0) sight.entries.push_back({std::string(named->name), std::move(shown->kept)});
    return {};
}

void EtcdLooks::overlapping(std::string_view resource, std::size_t most, Callback<Result<Sight>> reply) {
    auto without_itself = [name = std::string(resource), most, reply = std::move(reply)](Result<Sight> sight) mutable {
        if (sight) {
            std::erase_if(sight->entries, [&](const core::NamedKept& entry) { return entry.name == name; });
            if (sight->entries.size() > most) {
                sight->entries.resize(most);
                sight->cut = true;
            }
        }
        reply(std::move(sight));
    };
    gather(front_.keys.overlapping(resource), most + 1, std::move(without_itself));
}

struct EtcdLooks::Holding {
    std::string holder, after;
    std::size_t most = 0;
    bool more = false;  ///< names, after `after`
    Sight sight;
    Callback<Result<Sight>> reply;
};

void EtcdLooks::of_holder(std::string_view holder, std::size_t most, Callback<Result<Sight>> reply) {
    auto holding = std::make_shared<Holding>();
    holding->holder = holder;
    holding->after = front_.keys.of_holder(holder).first;
    holding->most = most;
    holding->reply = std::move(reply);
    next_of_holder(std::move(holding));
}

void EtcdLooks::next_of_holder(std::shared_ptr<Holding> holding) {
    RangeRequest request;
    request.set_key(holding->after + '\0');
    request.set_range_end(front_.keys.of_holder(holding->holder).end);
    request.set_limit(static_cast<std::int64_t>(std::min(names_each, holding->most + 1)));
    request.set_keys_only(true);
    front_.link.call(method::range, request, [this, holding](const GrpcAnswer& answer) { on_names(holding, answer); });
}

void EtcdLooks::on_names(const std::shared_ptr<Holding>& holding, const GrpcAnswer& answer) {
    const auto response = understood<RangeResponse>(answer);
    if (!response) return holding->reply(response.error());
    std::vector<KeyRange> records;
    const std::string begins = front_.keys.of_holder(holding->holder).first;
    for (const KeyValue& pair : response->kvs()) {
        if (!pair.key().starts_with(begins) || pair.key() <= holding->after)
            return holding->reply(unavailable("the answer to a look is about something else"));
        records.push_back({front_.keys.key(Kind::record, front_.keys.resource_in(pair.key(), holding->holder)), {}});
        holding->after = pair.key();
    }
    holding->more = response->more();
    if (records.empty()) return on_records(holding, Sight{{}, Front::now()});
    gather(records, records.size(), [this, holding](Result<Sight> sight) {
        if (!sight) return holding->reply(sight.error());
        on_records(holding, std::move(*sight));
    });
}

void EtcdLooks::on_records(const std::shared_ptr<Holding>& holding, Sight sight) {
    for (core::NamedKept& entry : sight.entries)
        holding->sight.entries.push_back(std::move(entry));
    if (holding->sight.entries.size() <= holding->most && holding->more) return next_of_holder(holding);
    holding->sight.now = sight.now;
    if (holding->sight.entries.size() > holding->most) {
        holding->sight.entries.resize(holding->most);
        holding->sight.cut = true;
    }
    holding->reply(std::move(holding->sight));
}

void EtcdLooks::scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
                     Callback<Result<Page>> reply) {
    const KeyRange all = front_.keys.beginning(kind, prefix);
    RangeRequest request;
    request.set_key(after.empty() ? all.first : std::max(all.first, front_.keys.key(kind, after) + '\0'));
    request.set_range_end(all.end);
    request.set_limit(static_cast<std::int64_t>(std::clamp<std::size_t>(most, 1, max_page(kind))));
    auto on_answer = [this, reply = std::move(reply)](const GrpcAnswer& answer) mutable {
        const auto response = understood<RangeResponse>(answer);
        if (!response) return reply(response.error());
        Sight sight;
        for (const KeyValue& pair : response->kvs())
            if (auto added = add(sight, pair, response->header().revision()); !added) return reply(added.error());
        Page page{std::move(sight.entries), Front::now(), {}};
        if (response->more() && response->kvs_size() > 0)
            page.next = front_.keys.named(response->kvs(response->kvs_size() - 1).key())->name;
        reply(std::move(page));
    };
    front_.link.call(method::range, request, std::move(on_answer));
}

}  // namespace holdfast::etcd
