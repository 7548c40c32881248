#include "store/etcd/etcd_watching.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>

#include "base/random.h"
#include "etcd.pb.h"

namespace holdfast::store::etcd {
namespace {

constexpr Duration look_every = 1s;
constexpr int probes_until_kept = 20;
constexpr Duration key_lasts = 60s;
constexpr std::size_t max_watch_page = 500;

}  // namespace

EtcdWatching::EtcdWatching(boost::asio::io_context& loop, EtcdContext& context, Told told)
    : context_(context), told_(std::move(told)), timer_(loop) {}

EtcdWatching::~EtcdWatching() {
    *alive_ = false;
}

void EtcdWatching::begin() {
    claim();
}

void EtcdWatching::stop() {
    timer_.cancel();
}

/// The keys of earlier connections are still deleted: a restored etcd may have them, and a proxy may still hold
/// requests sent on those connections.
void EtcdWatching::leave_history() {
    reviewed_ = false;
    watch_from_ = 0;
}

void EtcdWatching::claim() {
    context_.leases.lasting_until(EtcdContext::now() + key_lasts, EtcdContext::now(),
                                  [this](Result<LeaseNumber> lease) {
                                      if (!lease) return context_.link.fail(lease.error().message);
                                      claim_with(*lease);
                                  });
}

/// From now on nothing sent on an earlier connection can take effect.
void EtcdWatching::claim_with(LeaseNumber lease) {
    if (!context_.connection_key.empty()) stale_keys_.push_back(std::exchange(context_.connection_key, {}));
    TxnRequest request;
    for (const std::string& key : stale_keys_)
        request.add_success()->mutable_request_delete_range()->set_key(key);
    PutRequest& put = *request.add_success()->mutable_request_put();
    put.set_key(context_.keys.connection_key(random_hex(8)));
    put.set_lease(lease);
    context_.link.call(method::txn, request, [this, lease, key = put.key()](const GrpcAnswer& answer) {
        if (answer.status.code != GrpcStatus::not_found) return on_claimed(key, answer);
        context_.leases.forget(lease);
        claim();
    });
}

void EtcdWatching::on_claimed(std::string key, const GrpcAnswer& answer) {
    const auto response = understood<TxnResponse>(answer);
    if (!response) {
        context_.link.fail(response.error().message);
        return;
    }
    stale_keys_.clear();
    context_.connection_key = std::move(key);
    if (reviewed_ && watch_from_ > 0) return resume();
    review();
}

/// Checks that etcd still has all writes since. The watch would report that too, but only after it has begun.
void EtcdWatching::resume() {
    RangeRequest request;
    request.set_key(context_.connection_key);
    request.set_revision(std::min(watch_from_, context_.link.revision()));
    context_.link.call(method::range, request,
                       [this, connection = context_.link.connection()](const GrpcAnswer& answer) {
                           if (connection != context_.link.connection()) return;
                           answer.status.code == GrpcStatus::ok ? watch() : review();
                       });
}

void EtcdWatching::review() {
    reviewed_ = false;
    watch_from_ = 0;
    page_after_.clear();
    context_.seen.begin_review();
    next_page();
}

void EtcdWatching::next_page() {
    const KeyRange all = context_.keys.beginning(cas::Kind::record, {});
    RangeRequest request;
    request.set_key(page_after_.empty() ? all.first : page_after_ + '\0');
    request.set_range_end(all.end);
    request.set_limit(max_watch_page);
    context_.link.call(method::range, request,
                       [this, connection = context_.link.connection()](const GrpcAnswer& answer) {
                           if (connection == context_.link.connection()) on_page(answer);
                       });
}

void EtcdWatching::on_page(const GrpcAnswer& answer) {
    const auto response = understood<RangeResponse>(answer);
    if (!response) return context_.link.fail(response.error().message);
    const std::uint64_t connection = context_.link.connection();
    for (const KeyValue& pair : response->kvs()) {
        if (pair.key() <= page_after_) return context_.link.fail("its records are not in order");
        // A request for this record gets the error, too; here only a lost connection matters.
        (void)context_.take_note(pair, response->header().revision());
        if (connection != context_.link.connection()) return;
        page_after_ = pair.key();
    }
    const bool first = watch_from_ == 0;
    if (first) watch_from_ = response->header().revision() + 1;
    if (response->more()) {
        next_page();
    } else {
        context_.seen.end_review();
        reviewed_ = true;
    }
    if (first) watch();
}

void EtcdWatching::watch() {
    const KeyRange all = context_.keys.kept();
    WatchRequest request;
    WatchCreateRequest& create = *request.mutable_create_request();
    create.set_key(all.first);
    create.set_range_end(all.end);
    create.set_start_revision(watch_from_);
    create.set_progress_notify(true);
    create.set_fragment(true);
    watch_least_ = context_.link.revision();
    const std::uint64_t connection = context_.link.connection();
    context_.link.stream(method::watch, request,
                         {[this, connection](std::string_view message) {
                              if (connection == context_.link.connection()) on_message(message);
                          },
                          [this, connection](const GrpcStatus& status) {
                              if (connection == context_.link.connection())
                                  context_.link.fail("the watch has ended: " + status.message);
                          }});
}

void EtcdWatching::on_message(std::string_view message) {
    WatchResponse response;
    if (!response.ParseFromArray(message.data(), static_cast<int>(message.size())) ||
        response.header().cluster_id() != context_.link.cluster())
        return context_.link.fail("malformed message of the watch");
    if (response.canceled()) {
        if (response.compact_revision() > 0) watch_from_ = 0;
        const bool compacted = response.compact_revision() > 0;
        return context_.link.fail(compacted ? "it has compacted writes that the watch has not reported"
                                            : "the watch was refused: " + response.cancel_reason());
    }
    // The first reply on the next connection shows whether etcd was restored or only this watch lags.
    if (response.header().revision() < watch_least_) return context_.link.fail("its watch is behind its answers");
    context_.link.saw(response.header().revision());
    if (response.created()) {
        context_.link.ready();
        probe_in_a_second();
        told_.on_ready();
    }
    if (response.events_size() > 0)
        on_events(response);
    else if (!response.created())
        watch_from_ = std::max(watch_from_, response.header().revision() + 1);
}

void EtcdWatching::on_events(const WatchResponse& response) {
    const std::uint64_t connection = context_.link.connection();
    for (const Event& event : response.events()) {
        // Resume at this revision, not the next: another message may have more events of the same revision.
        watch_from_ = std::max(watch_from_, event.kv().mod_revision());
        if (event.type() == Event::DELETE) {
            context_.seen.tell_absent(event.kv().key(), event.kv().mod_revision(), EtcdContext::now());
            continue;
        }
        Value value;
        if (!context_.take_note(event.kv(), 0) || !value.ParseFromString(event.kv().value())) continue;
        if (!value.notice().empty()) told_.on_notice(value.notice());
        if (connection != context_.link.connection()) return;
    }
}

void EtcdWatching::probe_in_a_second() {
    timer_.expires_after(look_every);
    timer_.async_wait([this, alive = alive_](boost::system::error_code cancelled) {
        if (!cancelled && *alive && context_.link.is_ready()) probe();
    });
}

void EtcdWatching::probe() {
    if (++probes_ % probes_until_kept == 0) keep_key();
    RangeRequest request;
    request.set_key(context_.connection_key);
    context_.link.call(
        method::range, request,
        [this, asked = store_clock_now(), connection = context_.link.connection()](const GrpcAnswer& answer) {
            if (connection == context_.link.connection()) on_probe(asked, answer);
        });
}

void EtcdWatching::on_probe(Instant asked, const GrpcAnswer& answer) {
    if (const auto response = understood<RangeResponse>(answer)) {
        if (response->kvs_size() == 0) return context_.link.fail("the connection was given up for lost");
        round_trip_ = store_clock_now() - asked;
    }
    probe_in_a_second();
}

/// Puts the key again, on a later lease. This is not urgent, so a failure does not matter.
void EtcdWatching::keep_key() {
    context_.leases.lasting_until(
        EtcdContext::now() + key_lasts, EtcdContext::now(), [this](Result<LeaseNumber> lease) {
            if (!lease || context_.connection_key.empty()) return;
            TxnRequest request;
            Compare& there = *request.add_compare();
            there.set_result(Compare::GREATER);
            there.set_target(Compare::CREATE);
            there.set_key(context_.connection_key);
            there.set_create_revision(0);
            PutRequest& put = *request.add_success()->mutable_request_put();
            put.set_key(context_.connection_key);
            put.set_lease(*lease);
            context_.link.call(method::txn, request, [this, lease = *lease](const GrpcAnswer& answer) {
                if (answer.status.code == GrpcStatus::not_found) context_.leases.forget(lease);
            });
        });
}

}  // namespace holdfast::store::etcd
