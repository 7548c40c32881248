#include "store/etcd/etcd_swaps.h"

#include <algorithm>
#include <fmt/format.h>

#include "etcd.pb.h"

namespace holdfast::store::etcd {

using cas::EngineTime;
using cas::Swapped;

namespace {

constexpr Duration notice_lasts = 10s;      // watchers receive it within milliseconds
constexpr Duration index_outlasts = 10min;  // so that a renewal seldom has to write the index again
constexpr std::size_t max_index_ops = 100;  // etcd allows 128 in one transaction
constexpr int max_steps = 10;

EngineTime saturated(EngineTime time, Duration more) {
    return time > EngineTime::max() - more ? EngineTime::max() : time + more;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// The beginning of a value of this write.
std::string beginning_of(cas::WriteId write) {
    Value value;
    value.set_write(write.bytes());
    return value.SerializeAsString();
}

/// The first value after all that have this prefix.
std::string end_of_all(std::string begins) {
    for (std::size_t at = begins.size(); at-- > 0 && ++begins[at] == '\0';) {
    }
    return begins;
}

void compare_value(TxnRequest& request, const std::string& key, const std::string& above, const std::string& below) {
    for (const bool is_above : {true, false}) {
        Compare& compare = *request.add_compare();
        compare.set_result(is_above ? Compare::GREATER : Compare::LESS);
        compare.set_target(Compare::VALUE);
        compare.set_key(key);
        compare.set_value(is_above ? above : below);
    }
}

Error lost(const std::string& why = "etcd: its marker is gone, or is not the one that was there") {
    return {Code::store_lost, why};
}

}  // namespace

struct EtcdSwaps::Attempt {
    std::string key, name;
    cas::WriteId expected, becomes, marker;
    cas::Position position = 0;
    std::int64_t marker_revision = 0;  ///< the minimum mod revision of the marker
    EngineTime from, until, written_at, keep_until, due;
    std::string value;  ///< empty: delete the key
    bool there;         ///< more than a notice is written
    std::vector<std::string> holders;
    Callback<Result<Swapped>> reply;

    EngineTime give_up_at;
    int steps = 0;
    std::optional<std::int64_t> revision;  ///< of the expected value, if known; 0: no key
    LeaseNumber lease = 0, index_lease = 0;
    std::vector<std::string> index_puts, index_deletes;  ///< keys
    EngineTime indexed_until = EngineTime::min();
};

void EtcdSwaps::swap(const cas::Swap& swap, Callback<Result<Swapped>> reply) {
    auto attempt = std::make_shared<Attempt>();
    attempt->key = context_.keys.key(swap.kind, swap.name);
    attempt->name = swap.name;
    attempt->expected = swap.expected;
    attempt->becomes = swap.becomes;
    attempt->marker = swap.marker;
    attempt->position = swap.position;
    attempt->from = swap.from;
    attempt->until = swap.until;
    attempt->written_at = swap.written_at;
    attempt->there = !swap.bytes.empty();
    attempt->due = attempt->there ? swap.due : EngineTime::max();
    attempt->keep_until = attempt->there && swap.kind == cas::Kind::document ? EngineTime::max() : swap.keep_until;
    if (!attempt->there) attempt->keep_until = EtcdContext::now() + notice_lasts;
    if (attempt->there && swap.kind == cas::Kind::record)
        attempt->holders.assign(swap.holders.begin(), swap.holders.end());
    attempt->reply = std::move(reply);
    attempt->give_up_at = EtcdContext::now() + answer_within_;
    if (attempt->there || !swap.notice.empty()) {
        Value value;
        value.set_write(swap.becomes.bytes());
        value.set_content(std::string(swap.bytes));
        value.set_notice(std::string(swap.notice));
        if (attempt->due != EngineTime::max()) value.set_due_in_ns((attempt->due - swap.written_at).count());
        for (const std::string& holder : attempt->holders)
            value.add_holders(holder);
        attempt->value = value.SerializeAsString();
    }
    context_.own_writes.emplace(swap.becomes, swap.written_at);
    step(attempt);
}

void EtcdSwaps::step(const Attempting& attempt) {
    const EngineTime now = EtcdContext::now();
    if (now >= attempt->give_up_at) return finish(attempt, unavailable("no answer in time"));
    if (++attempt->steps > max_steps) return finish(attempt, unavailable("others write there all the time"));
    const SeenWrite* seen = context_.seen.find(attempt->key);
    if (seen != nullptr && seen->write == attempt->expected) attempt->revision = seen->there ? seen->revision : 0;
    if (seen == nullptr && attempt->expected == 0 && !attempt->revision) attempt->revision = 0;
    // This front's last seen write is never older than the one `expected` came from: a different write means that
    // `expected` is gone.
    const bool hopeless = seen != nullptr && seen->write != attempt->expected && !attempt->revision;
    if (hopeless || !attempt->revision || now < attempt->from || now >= attempt->until) return look(attempt);
    plan_index(*attempt);
    get_leases(attempt);
}

void EtcdSwaps::look(const Attempting& attempt) {
    if (attempt->marker == cas::WriteId{}) {
        RangeRequest request;
        request.set_key(attempt->key);
        return context_.link.call(method::range, request, [this, attempt](const GrpcAnswer& answer) {
            const auto response = understood<RangeResponse>(answer);
            if (!response) return finish(attempt, response.error());
            on_look(attempt, *response, response->header().revision());
        });
    }
    TxnRequest request;
    compare_marker(request, *attempt);
    request.add_success()->mutable_request_range()->set_key(attempt->key);
    context_.link.call(method::txn, request, [this, attempt](const GrpcAnswer& answer) {
        const auto response = understood<TxnResponse>(answer);
        if (!response) return finish(attempt, response.error());
        if (!response->succeeded()) return finish(attempt, lost());
        if (response->responses_size() != 1 || !response->responses(0).has_response_range())
            return finish(attempt, unavailable("malformed reply to a read"));
        on_look(attempt, response->responses(0).response_range(), response->header().revision());
    });
}

void EtcdSwaps::on_look(const Attempting& attempt, const RangeResponse& found, std::int64_t revision) {
    if (const auto reached = check_position(*attempt, revision); !reached) return finish(attempt, reached.error());
    auto shown = context_.take_note(attempt->key, found, revision);
    if (!shown) return finish(attempt, shown.error());
    on_found(attempt, std::move(*shown), revision);
}

/// The compared revision was not there, or nothing was compared.
void EtcdSwaps::on_found(const Attempting& attempt, EtcdContext::ValueAt shown, std::int64_t revision) {
    const EngineTime now = EtcdContext::now();
    const bool as_expected = shown.value.write == attempt->expected;
    if (as_expected && now >= attempt->from && now < attempt->until) {
        attempt->revision = shown.revision;
        return step(attempt);
    }
    Swapped swapped;
    swapped.now = now;
    swapped.position = static_cast<cas::Position>(revision);
    swapped.found.write = shown.value.write;
    if (!as_expected) swapped.found = std::move(shown.value);
    finish(attempt, std::move(swapped));
}

void EtcdSwaps::plan_index(Attempt& attempt) const {
    attempt.index_puts.clear();
    attempt.index_deletes.clear();
    const SeenWrite* seen = context_.seen.find(attempt.key);
    const bool known = seen != nullptr && seen->write == attempt.expected && attempt.expected != 0;
    const bool lasts = known && seen->indexed_until >= attempt.keep_until;
    for (const std::string& holder : attempt.holders)
        if (!lasts || !contains(seen->holders, holder))
            attempt.index_puts.push_back(context_.keys.holder_key(holder, attempt.name));
    if (known)
        for (const std::string& holder : seen->holders)
            if (!contains(attempt.holders, holder))
                attempt.index_deletes.push_back(context_.keys.holder_key(holder, attempt.name));
    // The others expire with their leases.
    if (attempt.index_deletes.size() > max_index_ops / 2) attempt.index_deletes.resize(max_index_ops / 2);
    attempt.indexed_until = lasts ? seen->indexed_until : saturated(attempt.keep_until, index_outlasts);
}

void EtcdSwaps::get_leases(const Attempting& attempt) {
    attempt->lease = attempt->index_lease = 0;
    if (attempt->keep_until == EngineTime::max() || attempt->value.empty()) return write_index_ahead(attempt);
    const EngineTime now = EtcdContext::now();
    const EngineTime index_until = saturated(attempt->keep_until, index_outlasts);
    context_.leases.lasting_until(attempt->keep_until, now, [=, this](Result<LeaseNumber> lease) {
        if (!lease) return finish(attempt, lease.error());
        attempt->lease = *lease;
        if (attempt->index_puts.empty()) return write_index_ahead(attempt);
        context_.leases.lasting_until(index_until, now, [this, attempt](Result<LeaseNumber> index_lease) {
            if (!index_lease) return finish(attempt, index_lease.error());
            attempt->index_lease = *index_lease;
            write_index_ahead(attempt);
        });
    });
}

/// Writes index entries that do not fit in one transaction first: of_holder() may show too much, but never too little.
void EtcdSwaps::write_index_ahead(const Attempting& attempt) {
    if (attempt->index_puts.size() <= max_index_ops / 2) return send(attempt);
    TxnRequest request;
    for (std::size_t count = 0; count < max_index_ops && !attempt->index_puts.empty(); ++count) {
        PutRequest& put = *request.add_success()->mutable_request_put();
        put.set_key(attempt->index_puts.back());
        put.set_lease(attempt->index_lease);
        attempt->index_puts.pop_back();
    }
    context_.link.call(method::txn, request, [this, attempt](const GrpcAnswer& answer) {
        const auto response = understood<TxnResponse>(answer);
        if (!response) return finish(attempt, response.error());
        write_index_ahead(attempt);
    });
}

TxnRequest EtcdSwaps::transaction(Attempt& attempt) const {
    TxnRequest request;
    Compare& unchanged = *request.add_compare();
    unchanged.set_target(Compare::MOD);
    unchanged.set_key(attempt.key);
    unchanged.set_mod_revision(*attempt.revision);
    // A revision does not identify a write if the history changed: etcd was restored.
    if (const std::string begins = beginning_of(attempt.expected); attempt.expected != cas::WriteId{})
        compare_value(request, attempt.key, begins, end_of_all(begins));
    if (attempt.marker != cas::WriteId{}) compare_marker(request, attempt);
    Compare& connected = *request.add_compare();
    connected.set_result(Compare::GREATER);
    connected.set_target(Compare::CREATE);
    connected.set_key(context_.connection_key);
    connected.set_create_revision(0);
    if (attempt.value.empty()) {
        request.add_success()->mutable_request_delete_range()->set_key(attempt.key);
    } else {
        PutRequest& put = *request.add_success()->mutable_request_put();
        put.set_key(attempt.key);
        put.set_value(attempt.value);
        put.set_lease(attempt.lease);
    }
    for (const std::string& key : attempt.index_puts) {
        PutRequest& put = *request.add_success()->mutable_request_put();
        put.set_key(key);
        put.set_lease(attempt.index_lease);
    }
    for (const std::string& key : attempt.index_deletes)
        request.add_success()->mutable_request_delete_range()->set_key(key);
    request.add_failure()->mutable_request_range()->set_key(attempt.key);
    request.add_failure()->mutable_request_range()->set_key(context_.connection_key);
    if (attempt.marker != cas::WriteId{}) request.add_failure()->mutable_request_range()->set_key(marker_key());
    return request;
}

void EtcdSwaps::send(const Attempting& attempt) {
    const EngineTime now = EtcdContext::now();
    if (now < attempt->from || now >= attempt->until) return look(attempt);  // it had to wait for an etcd lease
    context_.link.call(method::txn, transaction(*attempt),
                       [this, attempt](const GrpcAnswer& answer) { on_answer(attempt, answer); });
}

void EtcdSwaps::on_answer(const Attempting& attempt, const GrpcAnswer& answer) {
    if (answer.status.message.find("requested lease not found") != std::string::npos) {
        context_.leases.forget(attempt->lease);
        context_.leases.forget(attempt->index_lease);
        return step(attempt);
    }
    const auto response = understood<TxnResponse>(answer);
    if (!response) return finish(attempt, response.error());
    const auto reached = check_position(*attempt, response->header().revision());
    if (!reached) return finish(attempt, reached.error());
    response->succeeded() ? on_done(attempt, *response) : on_refused(attempt, *response);
}

void EtcdSwaps::on_done(const Attempting& attempt, const TxnResponse& response) {
    const EngineTime now = EtcdContext::now();
    const std::int64_t revision = response.header().revision();
    // The write itself raised the revision: before it, etcd may have been one behind.
    if (!attempt->value.empty())
        if (const auto reached = check_position(*attempt, revision - 1); !reached)
            return finish(attempt, reached.error());
    if (attempt->value.empty()) {
        context_.seen.tell_absent(attempt->key, revision, now);
    } else {
        SeenWrite seen;
        seen.revision = revision;
        if (attempt->there) seen.write = attempt->becomes;
        seen.since = attempt->written_at;
        seen.due = attempt->due;
        seen.holders = attempt->holders;
        seen.indexed_until = attempt->indexed_until;
        context_.seen.tell(attempt->key, std::move(seen), true);
    }
    Swapped swapped;
    swapped.done = true;
    swapped.now = now;
    swapped.position = static_cast<cas::Position>(revision);
    finish(attempt, std::move(swapped));
}

void EtcdSwaps::on_refused(const Attempting& attempt, const TxnResponse& response) {
    const int asked = attempt->marker == cas::WriteId{} ? 2 : 3;
    if (response.responses_size() != asked || !response.responses(0).has_response_range() ||
        !response.responses(1).has_response_range())
        return finish(attempt, unavailable("malformed reply to a transaction"));
    if (response.responses(1).response_range().kvs_size() == 0) {
        context_.link.fail("the connection was given up for lost");
        return finish(attempt, unavailable(context_.link.last_failure()));
    }
    if (const auto checked = check_marker(*attempt, response); !checked) return finish(attempt, checked.error());
    const std::int64_t revision = response.header().revision();
    auto shown = context_.take_note(attempt->key, response.responses(0).response_range(), revision);
    if (!shown) return finish(attempt, shown.error());
    on_found(attempt, std::move(*shown), revision);
}

std::string EtcdSwaps::marker_key() const {
    return context_.keys.key(cas::Kind::record, cas::marker_name);
}

/// Requires this marker, or a later one. In a history that went back, fronts may have raised the counter to the same
/// number again, but at a lower revision.
void EtcdSwaps::compare_marker(TxnRequest& request, Attempt& attempt) const {
    const std::string key = marker_key();
    compare_value(request, key, beginning_of(attempt.marker),
                  end_of_all(beginning_of({attempt.marker.start, ~std::uint64_t{0}})));
    const SeenWrite* seen = context_.seen.find(key);
    attempt.marker_revision = seen != nullptr && seen->there ? seen->revision : 0;
    Compare& reached = *request.add_compare();
    reached.set_result(Compare::GREATER);
    reached.set_target(Compare::MOD);
    reached.set_key(key);
    reached.set_mod_revision(std::max<std::int64_t>(attempt.marker_revision - 1, 0));
}

/// Checked afterwards, since etcd cannot compare this before it writes.
Result<void> EtcdSwaps::check_position(const Attempt& attempt, std::int64_t revision) {
    if (static_cast<cas::Position>(revision) >= attempt.position) return {};
    return lost(fmt::format("etcd: its revision is {}, but was {}, so it was restored to an earlier state", revision,
                            attempt.position));
}

/// The last range of a reply shows the marker, if the attempt requires one.
Result<void> EtcdSwaps::check_marker(const Attempt& attempt, const TxnResponse& response) {
    if (attempt.marker == cas::WriteId{}) return {};
    const ResponseOp& last = response.responses(response.responses_size() - 1);
    if (!last.has_response_range()) return unavailable("malformed reply to a transaction");
    const auto shown = context_.take_note(marker_key(), last.response_range(), response.header().revision());
    if (!shown) return shown.error();
    const bool stands = cas::stands(shown->value.write, attempt.marker) && shown->revision >= attempt.marker_revision;
    if (!stands) return lost();
    return {};
}

void EtcdSwaps::finish(const Attempting& attempt, Result<Swapped> result) {
    context_.own_writes.erase(attempt->becomes);
    if (!result && context_.link.history_lost()) result = lost(context_.link.last_failure());
    attempt->reply(std::move(result));
}

}  // namespace holdfast::store::etcd
