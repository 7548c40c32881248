#include "store/etcd/etcd_watching.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>

#include "base/random.h"
#include "etcd.pb.h"

namespace holdfast::etcd {
namespace {

constexpr Duration look_every = 1s;
constexpr int looks_until_kept = 20;
constexpr Duration key_lasts = 60s;
constexpr std::size_t max_watch_page = 500;

}  // namespace

EtcdWatching::EtcdWatching(boost::asio::io_context& loop, Front& front, Told told)
    : front_(front), told_(std::move(told)), timer_(loop) {}

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
    front_.leases.lasting_until(Front::now() + key_lasts, Front::now(), [this](Result<LeaseNumber> lease) {
        lease ? claim_with(*lease) : front_.link.fail(lease.error().message);
    });
}

/// From now on nothing sent on an earlier connection can take effect.
void EtcdWatching::claim_with(LeaseNumber lease) {
    if (!front_.connection_key.empty()) stale_keys_.push_back(std::exchange(front_.connection_key, {}));
    TxnRequest request;
    for (const std::string& key : stale_keys_)
        request.add_success()->mutable_request_delete_range()->set_key(key);
    PutRequest& put = *request.add_success()->mutable_request_put();
    put.set_key(front_.keys.connection_key(random_hex(8)));
    put.set_lease(lease);
    front_.link.call(method::txn, request, [this, lease, key = put.key()](const GrpcAnswer& answer) {
        if (answer.status.code != GrpcStatus::not_found) return on_claimed(key, answer);
        front_.leases.forget(lease);
        claim();
    });
}

void EtcdWatching::on_claimed(std::string key, const GrpcAnswer& answer) {
    const auto response = understood<TxnResponse>(answer);
    if (!response) {
        front_.link.fail(response.error().message);
        return;
    }
    stale_keys_.clear();
    front_.connection_key = std::move(key);
    reviewed_&& watch_from_ > 0 ? resume() : review();
}

/// Checks that etcd still has all writes since. The watch would report that too, but only after it has begun.
void EtcdWatching::resume() {
    RangeRequest request;
    request.set_key(front_.connection_key);
    request.set_revision(std::min(watch_from_, front_.link.revision()));
    front_.link.call(method::range, request, [this, connection = front_.link.connection()](const GrpcAnswer& answer) {
        if (connection != front_.link.connection()) return;
        answer.status.code == GrpcStatus::ok ? watch() : review();
    });
}

void EtcdWatching::review() {
    reviewed_ = false;
    watch_from_ = 0;
    page_after_.clear();
    front_.seen.begin_review();
    next_page();
}

void EtcdWatching::next_page() {
    const KeyRange all = front_.keys.beginning(core::Kind::record, {});
    RangeRequest request;
    request.set_key(page_after_.empty() ? all.first : page_after_ + '\0');
    request.set_range_end(all.end);
    request.set_limit(max_watch_page);
    front_.link.call(method::range, request, [this, connection = front_.link.connection()](const GrpcAnswer& answer) {
        if (connection == front_.link.connection()) on_page(answer);
    });
}

void EtcdWatching::on_page(const GrpcAnswer& answer) {
    const auto response = understood<RangeResponse>(answer);
    if (!response) return front_.link.fail(response.error().message);
    const std::uint64_t connection = front_.link.connection();
    for (const KeyValue& pair : response->kvs()) {
        if (pair.key() <= page_after_) return front_.link.fail("its records come in no order");
        // A request for this record gets the error, too; here only a lost connection matters.
        (void)front_.take_note(pair, response->header().revision());
        if (connection != front_.link.connection()) return;
        page_after_ = pair.key();
    }
    const bool first = watch_from_ == 0;
    if (first) watch_from_ = response->header().revision() + 1;
    if (response->more()) {
        next_page();
    } else {
        front_.seen.end_review();
        reviewed_ = true;
    }
    if (first) watch();
}

void EtcdWatching::watch() {
    const KeyRange all = front_.keys.kept();
    WatchRequest request;
    WatchCreateRequest& create = *request.mutable_create_request();
    create.set_key(all.first);
    create.set_range_end(all.end);
    create.set_start_revision(watch_from_);
    create.set_progress_notify(true);
    create.set_fragment(true);
    watch_least_ = front_.link.revision();
    const std::uint64_t connection = front_.link.connection();
    front_.link.stream(method::watch, request,
                       {[this, connection](std::string_view message) {
                            if (connection == front_.link.connection()) on_message(message);
                        },
                        [this, connection](const GrpcStatus& status) {
                            if (connection == front_.link.connection())
                                front_.link.fail("the watch has ended: " + status.message);
                        }});
}

void EtcdWatching::on_message(std::string_view message) {
    WatchResponse response;
    if (!response.ParseFromArray(message.data(), static_cast<int>(message.size())) ||
        response.header().cluster_id() != front_.link.cluster())
        return front_.link.fail("what the watch tells cannot be understood");
    if (response.canceled()) {
        if (response.compact_revision() > 0) watch_from_ = 0;
        const bool compacted = response.compact_revision() > 0;
        return front_.link.fail(compacted ? "it has compacted what was not told yet"
                                          : "the watch was refused: " + response.cancel_reason());
    }
    // The first reply on the next connection shows whether etcd was restored or only this watch lags.
    if (response.header().revision() < watch_least_) return front_.link.fail("its watch is behind its answers");
    front_.link.saw(response.header().revision());
    if (response.created()) {
        front_.link.ready();
        look_in_a_second();
        told_.on_ready();
    }
    if (response.events_size() > 0)
        on_events(response);
    else if (!response.created())
        watch_from_ = std::max(watch_from_, response.header().revision() + 1);
}

void EtcdWatching::on_events(const WatchResponse& response) {
    const std::uint64_t connection = front_.link.connection();
    for (const Event& event : response.events()) {
        // Resume at this revision, not the next: another message may have more events of the same revision.
        watch_from_ = std::max(watch_from_, event.kv().mod_revision());
        if (event.type() == Event::DELETE) {
            front_.seen.tell_absent(event.kv().key(), event.kv().mod_revision(), Front::now());
            continue;
        }
        Value value;
        if (!front_.take_note(event.kv(), 0) || !value.ParseFromString(event.kv().value())) continue;
        if (!value.notice().empty()) told_.on_notice(value.notice());
        if (connection != front_.link.connection()) return;
    }
}

void EtcdWatching::look_in_a_second() {
    timer_.expires_after(look_every);
    timer_.async_wait([this, alive = alive_](boost::system::error_code cancelled) {
        if (!cancelled && *alive && front_.link.is_ready()) look();
    });
}

void EtcdWatching::look() {
    if (++looks_ % looks_until_kept == 0) keep_key();
    RangeRequest request;
    request.set_key(front_.connection_key);
    front_.link.call(
        method::range, request,
        [this, asked = store_clock_now(), connection = front_.link.connection()](const GrpcAnswer& answer) {
            if (connection == front_.link.connection()) on_look(asked, answer);
        });
}

void EtcdWatching::on_look(Instant asked, const GrpcAnswer& answer) {
    if (const auto response = understood<RangeResponse>(answer)) {
        if (response->kvs_size() == 0) return front_.link.fail("the connection was given up for lost");
        round_trip_ = store_clock_now() - asked;
    }
    look_in_a_second();
}

/// Puts the key again, on a later lease. This is not urgent, so a failure does not matter.
void EtcdWatching::keep_key() {
    front_.leases.lasting_until(Front::now() + key_lasts, Front::now(), [this](Result<LeaseNumber> lease) {
        if (!lease || front_.connection_key.empty()) return;
        TxnRequest request;
        Compare& there = *request.add_compare();
        there.set_result(Compare::GREATER);
        there.set_target(Compare::CREATE);
        there.set_key(front_.connection_key);
        there.set_create_revision(0);
        PutRequest& put = *request.add_success()->mutable_request_put();
        put.set_key(front_.connection_key);
        put.set_lease(*lease);
        front_.link.call(method::txn, request, [this, lease = *lease](const GrpcAnswer& answer) {
            if (answer.status.code == GrpcStatus::not_found) front_.leases.forget(lease);
        });
    });
}

}  // namespace holdfast::etcd
