#include "etcd_streams.h"

namespace holdfast::bench {

namespace pb = etcdserverpb;

KeepAliveStream::KeepAliveStream(pb::Lease::Stub& stub, grpc::CompletionQueue& queue) {
    begin([&](grpc::ClientContext* context, void* tag) { return stub.AsyncLeaseKeepAlive(context, &queue, tag); });
}

void KeepAliveStream::add(std::int64_t lease, EtcdClient::OnKept on_kept) {
    waiting_.push_back(std::move(on_kept));
    pb::LeaseKeepAliveRequest request;
    request.set_id(lease);
    send(std::move(request));
}

void KeepAliveStream::on_message(const pb::LeaseKeepAliveResponse& response) {
    const auto on_kept = std::move(waiting_.front());
    waiting_.pop_front();
    on_kept(std::chrono::seconds(response.ttl()));
}

void KeepAliveStream::on_broken() {
    const auto waiting = std::move(waiting_);
    for (const auto& on_kept : waiting)
        on_kept(std::nullopt);
}

WatchStream::WatchStream(pb::Watch::Stub& stub, grpc::CompletionQueue& queue, const EtcdClient::Watched& watched,
                         EtcdClient::OnDelete on_delete)
    : on_delete_(std::move(on_delete)) {
    begin([&](grpc::ClientContext* context, void* tag) { return stub.AsyncWatch(context, &queue, tag); });
    pb::WatchRequest request;
    pb::WatchCreateRequest& create = *request.mutable_create_request();
    create.set_key(watched.key);
    if (watched.prefix) {
        std::string end = watched.key;
        ++end.back();
        create.set_range_end(end);
    }
    if (watched.after_revision > 0) create.set_start_revision(watched.after_revision + 1);
    create.add_filters(pb::WatchCreateRequest::NOPUT);
    send(std::move(request));
}

void WatchStream::on_message(const pb::WatchResponse& response) {
    if (response.canceled()) return cancel();
    watching_ = watching_ || response.created();
    for (const pb::Event& event : response.events())
        if (event.type() == pb::Event::DELETE) on_delete_(event.kv().key());
}

}  // namespace holdfast::bench
