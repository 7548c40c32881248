#pragma once

#include <deque>
#include <grpcpp/grpcpp.h>

#include "etcd.grpc.pb.h"
#include "etcd_client.h"

namespace holdfast::bench {

/// What the completion queue of a client has in hand: it comes back when it is done.
class EtcdEvent {
 public:
    virtual void on_event(bool ok) = 0;

 protected:
    ~EtcdEvent() = default;
};

/// A stream in both directions, with one message under way in each, as gRPC wants it. It begins at once, and must be
/// there until it is idle.
template <class Request, class Response>
class EtcdStream {
 public:
    using Stream = grpc::ClientAsyncReaderWriter<Request, Response>;

    bool broken() const { return broken_; }
    bool idle() const { return broken_ && open_ == 0; }
    void cancel() { context_.TryCancel(); }

 protected:
    ~EtcdStream() = default;

    /// `start(context, tag)` opens it.
    template <class Start>
    void begin(Start start) {
        context_.set_wait_for_ready(true);
        ++open_;
        stream_ = start(&context_, static_cast<EtcdEvent*>(&opened_));
    }
    void send(Request request) {
        if (broken_) return;
        unsent_.push_back(std::move(request));
        if (is_open_ && !writing_) write_next();
    }
    virtual void on_message(const Response& response) = 0;
    virtual void on_broken() = 0;

 private:
    /// One of the things that can be under way.
    struct Step final : EtcdEvent {
        Step(EtcdStream* its_stream, void (EtcdStream::*its_next)()) : stream(its_stream), next(its_next) {}
        void on_event(bool ok) override { stream->on_step(ok, next); }
        EtcdStream* stream;
        void (EtcdStream::*next)();
    };

    void on_step(bool ok, void (EtcdStream::*next)()) {
        --open_;
        if (ok && !broken_) return (this->*next)();
        if (!broken_) {
            broken_ = true;
            context_.TryCancel();
            ++open_;
            stream_->Finish(&status_, static_cast<EtcdEvent*>(&finished_));
            on_broken();
        }
    }
    void after_open() {
        is_open_ = true;
        read_next();
        if (!unsent_.empty()) write_next();
    }
    void after_write() {
        writing_ = false;
        if (!unsent_.empty()) write_next();
    }
    void after_read() {
        on_message(message_);
        if (!broken_) read_next();
    }
    void after_finish() {}

    void read_next() {
        ++open_;
        stream_->Read(&message_, static_cast<EtcdEvent*>(&read_));
    }
    /// What follows at once goes into the same packet.
    void write_next() {
        writing_ = true;
        ++open_;
        const Request request = std::move(unsent_.front());
        unsent_.pop_front();
        grpc::WriteOptions options;
        if (!unsent_.empty()) options.set_buffer_hint();
        stream_->Write(request, options, static_cast<EtcdEvent*>(&written_));
    }

    grpc::ClientContext context_;
    grpc::Status status_;
    std::unique_ptr<Stream> stream_;
    std::deque<Request> unsent_;
    Response message_;
    Step opened_{this, &EtcdStream::after_open}, written_{this, &EtcdStream::after_write},
        read_{this, &EtcdStream::after_read}, finished_{this, &EtcdStream::after_finish};
    int open_ = 0;  ///< steps under way
    bool is_open_ = false;
    bool writing_ = false;
    bool broken_ = false;
};

class KeepAliveStream final
    : public EtcdStream<etcdserverpb::LeaseKeepAliveRequest, etcdserverpb::LeaseKeepAliveResponse> {
 public:
    KeepAliveStream(etcdserverpb::Lease::Stub& stub, grpc::CompletionQueue& queue);
    /// REQUIRES: not broken().
    void add(std::int64_t lease, EtcdClient::OnKept on_kept);

 private:
    void on_message(const etcdserverpb::LeaseKeepAliveResponse& response) override;
    void on_broken() override;

    std::deque<EtcdClient::OnKept> waiting_;  ///< answers come in the order of the requests
};

class WatchStream final : public EtcdStream<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse> {
 public:
    WatchStream(etcdserverpb::Watch::Stub& stub, grpc::CompletionQueue& queue, const EtcdClient::Watched& watched,
                EtcdClient::OnDelete on_delete);
    bool watching() const { return watching_; }

 private:
    void on_message(const etcdserverpb::WatchResponse& response) override;
    void on_broken() override {}

    EtcdClient::OnDelete on_delete_;
    bool watching_ = false;
};

}  // namespace holdfast::bench
