#include "store/etcd/etcd_reads.h"

#include <algorithm>

#include "etcd.pb.h"

namespace holdfast::store::etcd {

using cas::FoundRecords;
using cas::Kind;
using cas::Page;
using cas::Reading;

namespace {

constexpr std::size_t ranges_each = 100;  // etcd allows 128 in one transaction
constexpr std::size_t names_each = 1000;

/// Keeps a page small enough for one reply: a value has at most 1.5 MiB.
std::size_t max_page(Kind kind) {
    return kind == Kind::record ? 500 : 32;
}

}  // namespace

void EtcdReads::fetch(Kind kind, std::string_view name, Callback<Result<Reading>> reply) {
    RangeRequest request;
    request.set_key(context_.keys.key(kind, name));
    auto on_answer = [this, key = request.key(), reply = std::move(reply)](const GrpcAnswer& answer) mutable {
        const auto response = understood<RangeResponse>(answer);
        if (!response) return reply(response.error());
        const std::int64_t revision = response->header().revision();
        auto shown = context_.take_note(key, *response, revision);
        if (!shown) return reply(shown.error());
        reply(Reading{std::move(shown->value), EtcdContext::now(), 0, static_cast<cas::Position>(revision)});
    };
    context_.link.call(method::range, request, std::move(on_answer));
}

struct EtcdReads::Gathering {
    FoundRecords read;
    std::size_t most = 0;
    std::size_t parts = 0;  ///< outstanding
    Callback<Result<FoundRecords>> reply;
};

void EtcdReads::gather(const std::vector<KeyRange>& ranges, std::size_t most, Callback<Result<FoundRecords>> reply) {
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
        context_.link.call(method::txn, request,
                           [this, gathered](const GrpcAnswer& answer) { on_part(gathered, answer); });
    }
}

void EtcdReads::on_part(const Gathered& gathered, const GrpcAnswer& answer) {
    --gathered->parts;
    if (!gathered->reply) return;  // another part has failed
    const auto give_up = [&](const Error& error) {
        if (gathered->reply) std::exchange(gathered->reply, {})(error);  // else it failed with the connection
    };
    const auto response = understood<TxnResponse>(answer);
    if (!response) return give_up(response.error());
    for (const ResponseOp& op : response->responses()) {
        if (!op.has_response_range()) return give_up(unavailable("malformed reply to a read"));
        for (const KeyValue& pair : op.response_range().kvs())
            if (auto added = add(gathered->read, pair, response->header().revision()); !added)
                return give_up(added.error());
        gathered->read.cut |= op.response_range().more();
    }
    if (gathered->parts > 0) return;
    FoundRecords& read = gathered->read;
    if (read.entries.size() > gathered->most) {
        read.entries.resize(gathered->most);
        read.cut = true;
    }
    read.now = EtcdContext::now();
    std::exchange(gathered->reply, {})(std::move(read));
}

Result<void> EtcdReads::add(FoundRecords& read, const KeyValue& pair, std::int64_t at) {
    auto shown = context_.take_note(pair, at);
    if (!shown) return shown.error();
    const auto named = context_.keys.named(pair.key());
    if (!named) return unavailable("the reply to a read is for another key");
    if (shown->value.write != 0) read.entries.push_back({std::string(named->name), std::move(shown->value)});
    return {};
}

void EtcdReads::overlapping(std::string_view resource, std::size_t most, Callback<Result<FoundRecords>> reply) {
    auto without_itself = [name = std::string(resource), most,
                           reply = std::move(reply)](Result<FoundRecords> read) mutable {
        if (read) {
            std::erase_if(read->entries, [&](const cas::NamedValue& entry) { return entry.name == name; });
            if (read->entries.size() > most) {
                read->entries.resize(most);
                read->cut = true;
            }
        }
        reply(std::move(read));
    };
    gather(context_.keys.overlapping(resource), most + 1, std::move(without_itself));
}

struct EtcdReads::Holding {
    std::string holder, after;
    std::size_t most = 0;
    bool more = false;  ///< names, after `after`
    FoundRecords read;
    Callback<Result<FoundRecords>> reply;
};

void EtcdReads::of_holder(std::string_view holder, std::size_t most, Callback<Result<FoundRecords>> reply) {
    auto holding = std::make_shared<Holding>();
    holding->holder = holder;
    holding->after = context_.keys.of_holder(holder).first;
    holding->most = most;
    holding->reply = std::move(reply);
    next_of_holder(std::move(holding));
}

void EtcdReads::next_of_holder(std::shared_ptr<Holding> holding) {
    RangeRequest request;
    request.set_key(holding->after + '\0');
    request.set_range_end(context_.keys.of_holder(holding->holder).end);
    request.set_limit(static_cast<std::int64_t>(std::min(names_each, holding->most + 1)));
    request.set_keys_only(true);
    context_.link.call(method::range, request,
                       [this, holding](const GrpcAnswer& answer) { on_names(holding, answer); });
}

void EtcdReads::on_names(const std::shared_ptr<Holding>& holding, const GrpcAnswer& answer) {
    const auto response = understood<RangeResponse>(answer);
    if (!response) return holding->reply(response.error());
    std::vector<KeyRange> records;
    const std::string begins = context_.keys.of_holder(holding->holder).first;
    for (const KeyValue& pair : response->kvs()) {
        if (!pair.key().starts_with(begins) || pair.key() <= holding->after)
            return holding->reply(unavailable("the reply to a read is for another key"));
        records.push_back(
            {context_.keys.key(Kind::record, context_.keys.resource_in(pair.key(), holding->holder)), {}});
        holding->after = pair.key();
    }
    holding->more = response->more();
    if (records.empty()) return on_records(holding, FoundRecords{{}, EtcdContext::now()});
    gather(records, records.size(), [this, holding](Result<FoundRecords> read) {
        if (!read) return holding->reply(read.error());
        on_records(holding, std::move(*read));
    });
}

void EtcdReads::on_records(const std::shared_ptr<Holding>& holding, FoundRecords read) {
    for (cas::NamedValue& entry : read.entries)
        holding->read.entries.push_back(std::move(entry));
    if (holding->read.entries.size() <= holding->most && holding->more) return next_of_holder(holding);
    holding->read.now = read.now;
    if (holding->read.entries.size() > holding->most) {
        holding->read.entries.resize(holding->most);
        holding->read.cut = true;
    }
    holding->reply(std::move(holding->read));
}

void EtcdReads::scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
                     Callback<Result<Page>> reply) {
    const KeyRange all = context_.keys.beginning(kind, prefix);
    RangeRequest request;
    request.set_key(after.empty() ? all.first : std::max(all.first, context_.keys.key(kind, after) + '\0'));
    request.set_range_end(all.end);
    request.set_limit(static_cast<std::int64_t>(std::clamp<std::size_t>(most, 1, max_page(kind))));
    auto on_answer = [this, reply = std::move(reply)](const GrpcAnswer& answer) mutable {
        const auto response = understood<RangeResponse>(answer);
        if (!response) return reply(response.error());
        FoundRecords read;
        for (const KeyValue& pair : response->kvs())
            if (auto added = add(read, pair, response->header().revision()); !added) return reply(added.error());
        Page page{std::move(read.entries), EtcdContext::now(), {}};
        if (response->more() && response->kvs_size() > 0)
            page.next = context_.keys.named(response->kvs(response->kvs_size() - 1).key())->name;
        reply(std::move(page));
    };
    context_.link.call(method::range, request, std::move(on_answer));
}

}  // namespace holdfast::store::etcd
