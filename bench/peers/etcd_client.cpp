#include "etcd_client.h"

#include <algorithm>
#include <grpcpp/grpcpp.h>
#include <stdexcept>
#include <thread>

#include "etcd.grpc.pb.h"
#include "etcd_streams.h"

namespace holdfast::bench {
namespace {

namespace pb = etcdserverpb;

/// etcd refuses much more than this at once.
constexpr std::uint32_t requests_under_way = 1000;
/// At most 128 operations are in a transaction.
constexpr std::size_t keys_of_a_transaction = 100;
/// A node answers the keep-alives of one stream one after the other.
constexpr std::size_t keep_alive_streams = 8;
constexpr Milliseconds retry_pause{20};
/// Nodes that hang are found by pings; etcd takes offence at more than one in five seconds.
constexpr int ping_every_ms = 6000;
constexpr int ping_answer_ms = 2000;

std::shared_ptr<grpc::Channel> channel_to(const std::vector<std::uint16_t>& ports) {
    std::string target = "ipv4:";
    for (const std::uint16_t port : ports)
        target += (target.back() == ':' ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ping_every_ms);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ping_answer_ms);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

/// A request under way, which ends itself when it is answered.
template <class Response>
struct Call final : EtcdEvent {
    grpc::ClientContext context;
    grpc::Status status;
    Response response;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
    std::function<void(const grpc::Status&, const Response&)> on_answer;

    void on_event(bool) override {
        const std::unique_ptr<Call> self(this);
        on_answer(status, response);
    }
};

pb::LeaseGrantRequest grant_request(Milliseconds ttl) {
    pb::LeaseGrantRequest request;
    request.set_ttl(std::chrono::ceil<std::chrono::seconds>(ttl).count());
    return request;
}

pb::TxnRequest put_request(const EtcdClient::Wanted* wanted, std::size_t count, const std::string& value) {
    pb::TxnRequest request;
    for (std::size_t i = 0; i < count; ++i) {
        pb::Compare& is_free = *request.add_compare();
        is_free.set_target(pb::Compare::CREATE);
        is_free.set_key(wanted[i].key);
        is_free.set_create_revision(0);
        pb::PutRequest& put = *request.add_success()->mutable_request_put();
        put.set_key(wanted[i].key);
        put.set_value(value);
        put.set_lease(wanted[i].lease);
    }
    return request;
}

}  // namespace

struct EtcdClient::Impl {
    explicit Impl(const std::vector<std::uint16_t>& ports)
        : channel(channel_to(ports)),
          kv(pb::KV::NewStub(channel)),
          leases(pb::Lease::NewStub(channel)),
          watches(pb::Watch::NewStub(channel)) {}
    ~Impl();

    bool step(Moment until);
    void wait_for(const std::function<bool()>& happened);

    /// `start` is one of the stubs' Async functions. It waits while too many are under way.
    template <class Response, class Start, class Request>
    void send(Start start, const Request& request,
              std::function<void(const grpc::Status&, const Response&)> on_answer) {
        wait_for([this] { return under_way < requests_under_way; });
        auto* call = new Call<Response>;
        call->context.set_deadline(std::chrono::system_clock::now() + answer_limit);
        call->context.set_wait_for_ready(true);
        ++under_way;
        call->on_answer = [this, on_answer = std::move(on_answer)](const auto& status, const auto& response) {
            --under_way;
            on_answer(status, response);
        };
        call->reader = start(&call->context, request, &queue);
        call->reader->Finish(&call->response, &call->status, static_cast<EtcdEvent*>(call));
    }

    template <class Response>
    struct Asked : Exchange {
        bool came = false;
        int tries = 0;
        grpc::Status status;
        Response response;
    };
    /// Waits for the answer; asks again, at the next node, if there is none because of the node.
    template <class Response, class Start, class Request>
    Asked<Response> ask(Start start, const Request& request) {
        const Moment limit = SteadyClock::now() + answer_limit;
        for (int tries = 1;; ++tries) {
            const auto asked = std::make_shared<Asked<Response>>();
            asked->tries = tries;
            asked->asked = SteadyClock::now();
            send<Response>(start, request, [asked](const grpc::Status& status, const Response& response) {
                asked->answered = SteadyClock::now();
                asked->came = true;
                asked->status = status;
                asked->response = response;
            });
            wait_for([&] { return asked->came; });
            if (asked->status.error_code() != grpc::StatusCode::UNAVAILABLE) return *asked;
            if (SteadyClock::now() >= limit) throw std::runtime_error("etcd: " + asked->status.error_message());
            std::this_thread::sleep_for(retry_pause);
        }
    }

    template <class Asked>
    static void expect_ok(const Asked& asked) {
        if (!asked.status.ok()) throw std::runtime_error("etcd: " + asked.status.error_message());
    }

    // The functions of the stubs, as send() takes them.
    auto granting() {
        return [this](auto... all) { return leases->AsyncLeaseGrant(all...); };
    }

    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<pb::KV::Stub> kv;
    std::unique_ptr<pb::Lease::Stub> leases;
    std::unique_ptr<pb::Watch::Stub> watches;
    grpc::CompletionQueue queue;
    std::uint32_t under_way = 0;
    std::vector<std::unique_ptr<KeepAliveStream>> keep_alives{keep_alive_streams};
    std::size_t next_stream = 0;
    std::unique_ptr<WatchStream> watch;
    std::vector<std::unique_ptr<WatchStream>> watches_that_end;
};

bool EtcdClient::Impl::step(Moment until) {
    void* tag = nullptr;
    bool ok = false;
    const auto wait = until == Moment() ? SteadyClock::duration::zero() : until - SteadyClock::now();
    const auto wake = std::chrono::system_clock::now() + std::chrono::ceil<std::chrono::microseconds>(wait);
    if (queue.AsyncNext(&tag, &ok, wake) != grpc::CompletionQueue::GOT_EVENT) return false;
    static_cast<EtcdEvent*>(tag)->on_event(ok);
    return true;
}

void EtcdClient::Impl::wait_for(const std::function<bool()>& happened) {
    const Moment limit = SteadyClock::now() + answer_limit;
    while (!happened()) {
        if (SteadyClock::now() >= limit) throw std::runtime_error("etcd: no answer in time");
        step(limit);
    }
}

/// Whatever is under way comes back, and must find its object.
EtcdClient::Impl::~Impl() {
    if (watch) watches_that_end.push_back(std::move(watch));
    for (const auto& stream : watches_that_end)
        stream->cancel();
    for (const auto& stream : keep_alives)
        if (stream) stream->cancel();
    const auto all_idle = [](const auto& streams) {
        return std::all_of(streams.begin(), streams.end(), [](const auto& each) { return !each || each->idle(); });
    };
    while (!all_idle(keep_alives) || !all_idle(watches_that_end) || under_way > 0)
        step(SteadyClock::now() + answer_limit);
    queue.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
    }
}

EtcdClient::EtcdClient(const std::vector<std::uint16_t>& ports) : impl_(std::make_unique<Impl>(ports)) {}
EtcdClient::~EtcdClient() = default;

void EtcdClient::serve(Moment until) {
    impl_->step(until);
}

void EtcdClient::wait_for(const std::function<bool()>& happened) {
    impl_->wait_for(happened);
}

EtcdClient::Lease EtcdClient::grant(Milliseconds ttl) {
    return grant_all({ttl}).front();
}

std::vector<EtcdClient::Lease> EtcdClient::grant_all(const std::vector<Milliseconds>& ttls) {
    struct Progress {
        std::vector<Lease> leases;
        std::size_t answered = 0;
        std::string failed;
    };
    const auto progress = std::make_shared<Progress>();
    progress->leases.resize(ttls.size());
    for (std::size_t i = 0; i < ttls.size(); ++i) {
        impl_->wait_for([this] { return impl_->under_way < requests_under_way; });
        progress->leases[i].asked = SteadyClock::now();
        impl_->send<pb::LeaseGrantResponse>(impl_->granting(), grant_request(ttls[i]),
                                            [progress, i](const auto& status, const auto& response) {
                                                ++progress->answered;
                                                progress->leases[i].answered = SteadyClock::now();
                                                progress->leases[i].id = response.id();
                                                progress->leases[i].ttl = std::chrono::seconds(response.ttl());
                                                if (!status.ok()) progress->failed = status.error_message();
                                            });
    }
    impl_->wait_for([&] { return progress->answered == ttls.size(); });
    if (!progress->failed.empty()) throw std::runtime_error("etcd: " + progress->failed);
    return progress->leases;
}

Doing EtcdClient::revoke(std::int64_t lease) {
    pb::LeaseRevokeRequest request;
    request.set_id(lease);
    const auto asked = impl_->ask<pb::LeaseRevokeResponse>(
        [this](auto... all) { return impl_->leases->AsyncLeaseRevoke(all...); }, request);
    const bool gone = asked.status.error_code() == grpc::StatusCode::NOT_FOUND;
    if (!gone) Impl::expect_ok(asked);
    Doing doing;
    static_cast<Exchange&>(doing) = asked;
    doing.done = !gone || asked.tries > 1;
    if (!doing.done) doing.why = asked.status.error_message();
    return doing;
}

EtcdClient::Put EtcdClient::put_if_free(const Wanted& wanted, const std::string& value) {
    const auto start = [this](auto... all) { return impl_->kv->AsyncTxn(all...); };
    const auto asked = impl_->ask<pb::TxnResponse>(start, put_request(&wanted, 1, value));
    Impl::expect_ok(asked);
    Put put;
    static_cast<Exchange&>(put) = asked;
    put.done = asked.response.succeeded();
    put.revision = asked.response.header().revision();
    if (put.done || asked.tries == 1) return put;
    pb::RangeRequest request;  // perhaps it was put by this very request, whose answer was lost
    request.set_key(wanted.key);
    const auto found =
        impl_->ask<pb::RangeResponse>([this](auto... all) { return impl_->kv->AsyncRange(all...); }, request);
    put.done = found.response.kvs_size() > 0 && found.response.kvs(0).lease() == wanted.lease;
    if (put.done) put.revision = found.response.kvs(0).create_revision();
    return put;
}

std::vector<std::int64_t> EtcdClient::put_all(const std::vector<Wanted>& wanted, const std::string& value) {
    struct Progress {
        std::vector<std::int64_t> revisions;
        std::size_t missing = 0;
        std::string failed;
    };
    const auto progress = std::make_shared<Progress>();
    progress->revisions.resize(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); i += keys_of_a_transaction) {
        const std::size_t count = std::min(keys_of_a_transaction, wanted.size() - i);
        ++progress->missing;
        impl_->send<pb::TxnResponse>([this](auto... all) { return impl_->kv->AsyncTxn(all...); },
                                     put_request(&wanted[i], count, value),
                                     [progress, i, count](const auto& status, const auto& response) {
                                         --progress->missing;
                                         std::fill_n(progress->revisions.begin() + static_cast<std::ptrdiff_t>(i),
                                                     count, response.header().revision());
                                         if (!status.ok())
                                             progress->failed = status.error_message();
                                         else if (!response.succeeded())
                                             progress->failed = "a key is taken";
                                     });
    }
    impl_->wait_for([&] { return progress->missing == 0; });
    if (!progress->failed.empty()) throw std::runtime_error("etcd: " + progress->failed);
    return progress->revisions;
}

Showing EtcdClient::get(const std::string& key) {
    pb::RangeRequest request;
    request.set_key(key);
    const auto asked =
        impl_->ask<pb::RangeResponse>([this](auto... all) { return impl_->kv->AsyncRange(all...); }, request);
    Impl::expect_ok(asked);
    Showing showing;
    static_cast<Exchange&>(showing) = asked;
    if (asked.response.kvs_size() > 0) showing.holder = asked.response.kvs(0).value();
    return showing;
}

void EtcdClient::keep_alive(std::int64_t lease, OnKept on_kept) {
    auto& stream = impl_->keep_alives[impl_->next_stream];
    impl_->next_stream = (impl_->next_stream + 1) % keep_alive_streams;
    if (stream && stream->broken()) impl_->wait_for([&] { return stream->idle(); });
    if (!stream || stream->broken()) stream = std::make_unique<KeepAliveStream>(*impl_->leases, impl_->queue);
    stream->add(lease, std::move(on_kept));
}

void EtcdClient::watch(const Watched& watched, OnDelete on_delete) {
    stop_watching();
    impl_->watch = std::make_unique<WatchStream>(*impl_->watches, impl_->queue, watched, std::move(on_delete));
    impl_->wait_for([this] { return impl_->watch->watching() || impl_->watch->broken(); });
    if (impl_->watch->broken()) throw std::runtime_error("etcd: it does not watch");
}

bool EtcdClient::watch_is_broken() const {
    return !impl_->watch || impl_->watch->broken();
}

void EtcdClient::stop_watching() {
    if (!impl_->watch) return;
    impl_->watch->cancel();
    impl_->watches_that_end.push_back(std::move(impl_->watch));
    std::erase_if(impl_->watches_that_end, [](const auto& each) { return each->idle(); });
}

}  // namespace holdfast::bench
