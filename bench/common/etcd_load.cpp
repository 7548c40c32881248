// Puts load on the nodes of an etcd cluster, by its own protocol, gRPC:
//     etcd_load keep-alive|transaction CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT,PORT,…
// Orders and answers are those of load.h. A client does what is cheapest for a lock on etcd: one lease for all its
// locks, granted once; to acquire, a transaction that puts the key if there is none; to release, a delete. It renews by
// keep-alives on one stream, all its locks by one of them; or, as who keeps something about each renewal does, by a
// transaction that puts the key if nobody else has since, all of a heartbeat at once. Each client has connections of
// its own, as clients in different processes have.

#include <algorithm>
#include <grpcpp/grpcpp.h>
#include <iostream>
#include <stdexcept>

#include "etcd.grpc.pb.h"
#include "load.h"

namespace holdfast::bench {
namespace {

namespace pb = etcdserverpb;

/// From `open` on it is about the stream.
enum class Asked : std::uint8_t { nothing, grant, acquire, release, renew, open, write, read, finish };

template <class Response>
using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>>;
using KeepAlives = grpc::ClientAsyncReaderWriter<pb::LeaseKeepAliveRequest, pb::LeaseKeepAliveResponse>;

struct Node {
    std::unique_ptr<pb::KV::Stub> kv;
    std::unique_ptr<pb::Lease::Stub> lease;
};

/// A lock that is held, and its renewal by a transaction.
struct Held {
    std::int64_t revision = 0;  ///< of the key, as this client wrote it
    std::unique_ptr<grpc::ClientContext> context;
    grpc::Status status;
    Reader<pb::TxnResponse> renewing;
    pb::TxnResponse renewed;
};

struct Client {
    std::uint32_t number = 0;
    std::vector<Node> nodes;
    std::size_t node = 0;
    std::int64_t lease = 0;
    std::uint32_t lock = 0;
    std::vector<Held> held{leases_of_a_heartbeat};
    std::uint32_t taken = 0;    ///< as many of them are
    std::uint32_t missing = 0;  ///< answers to renewals
    bool again = false;         ///< this acquire was asked for before, and nobody knows what became of it
    bool done = true;
    Asked asked_for = Asked::nothing;
    SteadyClock::time_point asked, deadline, resume_at;

    std::unique_ptr<grpc::ClientContext> context;
    grpc::Status status;
    Reader<pb::LeaseGrantResponse> granting;
    Reader<pb::TxnResponse> acquiring;
    Reader<pb::DeleteRangeResponse> releasing;
    pb::LeaseGrantResponse granted;
    pb::TxnResponse acquired;
    pb::DeleteRangeResponse released;
    std::unique_ptr<grpc::ClientContext> stream_context;
    std::unique_ptr<KeepAlives> stream;
    pb::LeaseKeepAliveResponse kept;
    std::string why;  ///< the stream failed
};

class EtcdLoad final : public Load {
 public:
    EtcdLoad(Setting setting, bool keep_alives);
    ~EtcdLoad() override;
    void run(Operation operation, SteadyClock::time_point until, Score& score) override;

 private:
    bool all_hold(std::uint32_t leases) const override;
    bool must_acquire(const Client& client) const;
    std::string key_of(const Client& client) const;
    void begin(Client& client);
    void ask(Client& client);
    void grant(Client& client);
    void acquire(Client& client);
    void release(Client& client);
    void renew(Client& client);
    void keep_alive(Client& client);
    void on_answer(Client& client, bool ok);
    void on_acquired(Client& client);
    void on_renewed(Client& client);
    void on_stream(Client& client, bool ok);
    void succeed(Client& client);
    void fail(Client& client, const std::string& why);
    void look_at_the_time();
    void finish(Client& client);
    std::unique_ptr<grpc::ClientContext> fresh_context() const;

    Setting setting_;
    bool keep_alives_;
    grpc::CompletionQueue queue_;
    std::vector<Client> clients_;
    Operation operation_ = Operation::cycle;
    SteadyClock::time_point until_;
    Score* score_ = nullptr;
    std::size_t open_ = 0;
};

EtcdLoad::EtcdLoad(Setting setting, bool keep_alives)
    : setting_(std::move(setting)), keep_alives_(keep_alives), clients_(setting_.clients) {
    for (std::uint32_t i = 0; i < setting_.clients; ++i) {
        clients_[i].number = i;
        clients_[i].node = i % setting_.ports.size();
        for (const std::uint16_t port : setting_.ports) {
            grpc::ChannelArguments arguments;
            arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // else all clients would share one connection
            const auto channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                                           grpc::InsecureChannelCredentials(), arguments);
            clients_[i].nodes.push_back({pb::KV::NewStub(channel), pb::Lease::NewStub(channel)});
        }
    }
}

/// Streams end here; whatever else is under way has ended with its run.
EtcdLoad::~EtcdLoad() {
    for (Client& client : clients_)
        if (client.stream) client.stream_context->TryCancel();
    for (Client& client : clients_)
        if (client.stream) client.stream->Finish(&client.status, &client);
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
}

bool EtcdLoad::all_hold(std::uint32_t leases) const {
    const auto holds = [&](const Client& each) { return keep_alives_ || each.taken >= leases; };
    return std::all_of(clients_.begin(), clients_.end(), holds);
}

bool EtcdLoad::must_acquire(const Client& client) const {
    return operation_ == Operation::cycle || (!keep_alives_ && client.taken < leases_to_hold(operation_));
}

/// What it acquires or releases.
std::string EtcdLoad::key_of(const Client& client) const {
    const bool cycles = operation_ == Operation::cycle;
    return setting_.lock_name(client.number, cycles ? client.lock : setting_.locks_each + client.taken);
}

void EtcdLoad::run(Operation operation, SteadyClock::time_point until, Score& score) {
    operation_ = operation;
    until_ = until;
    score_ = &score;
    open_ = clients_.size();
    for (Client& client : clients_) {
        client.done = false;
        begin(client);
    }
    while (open_ > 0) {
        void* tag = nullptr;
        bool ok = false;
        const auto wake = std::chrono::system_clock::now() + std::chrono::milliseconds(2);
        if (queue_.AsyncNext(&tag, &ok, wake) == grpc::CompletionQueue::GOT_EVENT)
            on_answer(*static_cast<Client*>(tag), ok);
        look_at_the_time();
    }
}

void EtcdLoad::begin(Client& client) {
    client.asked = SteadyClock::now();
    client.asked_for = Asked::nothing;
    client.again = false;
    if (client.asked >= until_) return finish(client);
    ask(client);
}

void EtcdLoad::finish(Client& client) {
    client.done = true;
    --open_;
}

void EtcdLoad::ask(Client& client) {
    client.deadline = SteadyClock::now() + setting_.attempt_time;
    if (client.lease == 0)
        grant(client);
    else if (must_acquire(client))
        acquire(client);
    else if (keep_alives_)
        keep_alive(client);
    else
        renew(client);
}

std::unique_ptr<grpc::ClientContext> EtcdLoad::fresh_context() const {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + setting_.attempt_time);
    return context;
}

void EtcdLoad::grant(Client& client) {
    client.context = fresh_context();
    pb::LeaseGrantRequest request;
    request.set_ttl(setting_.ttl_ms / 1000);
    client.asked_for = Asked::grant;
    client.granting = client.nodes[client.node].lease->AsyncLeaseGrant(client.context.get(), request, &queue_);
    client.granting->Finish(&client.granted, &client.status, &client);
}

void EtcdLoad::acquire(Client& client) {
    client.context = fresh_context();
    const std::string key = key_of(client);
    pb::TxnRequest request;
    pb::Compare& is_free = *request.add_compare();
    is_free.set_target(pb::Compare::CREATE);
    is_free.set_key(key);
    is_free.set_create_revision(0);
    pb::PutRequest& put = *request.add_success()->mutable_request_put();
    put.set_key(key);
    put.set_value(setting_.holder_name(client.number));
    put.set_lease(client.lease);
    client.asked_for = Asked::acquire;
    client.acquiring = client.nodes[client.node].kv->AsyncTxn(client.context.get(), request, &queue_);
    client.acquiring->Finish(&client.acquired, &client.status, &client);
}

void EtcdLoad::release(Client& client) {
    client.context = fresh_context();
    client.deadline = SteadyClock::now() + setting_.attempt_time;
    pb::DeleteRangeRequest request;
    request.set_key(key_of(client));
    client.asked_for = Asked::release;
    client.releasing = client.nodes[client.node].kv->AsyncDeleteRange(client.context.get(), request, &queue_);
    client.releasing->Finish(&client.released, &client.status, &client);
}

void EtcdLoad::renew(Client& client) {
    client.asked_for = Asked::renew;
    client.missing = leases_to_hold(operation_);
    for (std::uint32_t i = 0; i < client.missing; ++i) {
        Held& held = client.held[i];
        const std::string key = setting_.lock_name(client.number, setting_.locks_each + i);
        pb::TxnRequest request;
        pb::Compare& is_ours = *request.add_compare();
        is_ours.set_target(pb::Compare::MOD);
        is_ours.set_key(key);
        is_ours.set_mod_revision(held.revision);
        pb::PutRequest& put = *request.add_success()->mutable_request_put();
        put.set_key(key);
        put.set_value(setting_.holder_name(client.number));
        put.set_lease(client.lease);
        held.context = fresh_context();
        held.renewing = client.nodes[client.node].kv->AsyncTxn(held.context.get(), request, &queue_);
        held.renewing->Finish(&held.renewed, &held.status, &client);
    }
}

void EtcdLoad::keep_alive(Client& client) {
    if (!client.stream) {
        client.stream_context = std::make_unique<grpc::ClientContext>();
        client.asked_for = Asked::open;
        client.stream =
            client.nodes[client.node].lease->AsyncLeaseKeepAlive(client.stream_context.get(), &queue_, &client);
        return;
    }
    pb::LeaseKeepAliveRequest request;
    request.set_id(client.lease);
    client.asked_for = Asked::write;
    client.stream->Write(request, &client);
}

void EtcdLoad::on_answer(Client& client, bool ok) {
    const Asked asked_for = client.asked_for;
    if (asked_for >= Asked::open) return on_stream(client, ok);
    if (asked_for == Asked::renew) return --client.missing == 0 ? on_renewed(client) : void();
    if (!client.status.ok()) return fail(client, client.status.error_message());
    if (asked_for == Asked::grant) {
        client.lease = client.granted.id();
        return begin(client);  // the operation itself begins now
    }
    if (asked_for == Asked::release) return operation_ == Operation::cycle ? succeed(client) : begin(client);
    on_acquired(client);
}

void EtcdLoad::on_acquired(Client& client) {
    if (!client.acquired.succeeded() && !client.again) return fail(client, "the lock is taken");
    if (operation_ == Operation::cycle) return release(client);
    if (!client.acquired.succeeded()) return release(client);  // nobody knows at which revision it was
    client.held[client.taken++].revision = client.acquired.header().revision();
    begin(client);
}

/// All answers are there. If one is bad, all locks are taken anew: their revisions are not known.
void EtcdLoad::on_renewed(Client& client) {
    for (std::uint32_t i = 0; i < leases_to_hold(operation_); ++i) {
        Held& held = client.held[i];
        if (held.status.ok() && held.renewed.succeeded()) {
            held.revision = held.renewed.header().revision();
            continue;
        }
        client.taken = 0;
        return fail(client, held.status.ok() ? "somebody else wrote the key" : held.status.error_message());
    }
    succeed(client);
}

void EtcdLoad::on_stream(Client& client, bool ok) {
    if (client.asked_for == Asked::finish) {
        client.stream.reset();
        return fail(client, client.why + client.status.error_message());
    }
    if (!ok) {
        client.asked_for = Asked::finish;
        return client.stream->Finish(&client.status, &client);
    }
    if (client.asked_for == Asked::open) return keep_alive(client);
    if (client.asked_for == Asked::write) {
        client.asked_for = Asked::read;
        return client.stream->Read(&client.kept, &client);
    }
    if (client.kept.ttl() <= 0) {
        client.lease = 0;
        return fail(client, "the lease is gone");
    }
    succeed(client);
}

void EtcdLoad::succeed(Client& client) {
    const auto now = SteadyClock::now();
    if (now <= until_) score_->good(client.asked, now);
    client.lock = (client.lock + 1) % setting_.locks_each;
    begin(client);
}

/// The next node, after a pause.
void EtcdLoad::fail(Client& client, const std::string& why) {
    score_->retried(why);
    client.node = (client.node + 1) % setting_.ports.size();
    client.again = true;
    client.why.clear();
    client.asked_for = Asked::nothing;
    client.resume_at = SteadyClock::now() + retry_pause;
}

/// Calls have a deadline of their own; a stream that does not answer is cancelled here.
void EtcdLoad::look_at_the_time() {
    const auto now = SteadyClock::now();
    for (Client& client : clients_) {
        if (client.done) continue;
        if (client.asked_for >= Asked::open && now >= client.deadline && client.why.empty()) {
            client.why = "no answer in time ";
            client.stream_context->TryCancel();
        }
        if (client.asked_for != Asked::nothing || now < client.resume_at) continue;
        if (now < until_) {
            ask(client);
        } else {
            score_->still_waiting(client.asked, until_);
            finish(client);
        }
    }
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
    using namespace holdfast::bench;
    return run_load(argc, argv, {"keep-alive", "transaction"}, [](Setting setting, bool first_way) {
        return std::make_unique<EtcdLoad>(std::move(setting), first_way);
    });
}
