#include "store/etcd/etcd_link.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "etcd.pb.h"

namespace holdfast::store::etcd {
namespace {

constexpr Duration pause_least = 50ms, max_pause = 1s;

bool says(std::string_view message, std::string_view part) {
    return message.find(part) != std::string_view::npos;
}

bool wants_another_token(const GrpcStatus& status) {
    return says(status.message, "invalid auth token") || says(status.message, "revision of auth store is old") ||
           says(status.message, "user name is empty");  // authentication was enabled a moment ago
}

bool has_no_space(const GrpcStatus& status) {
    return says(status.message, "database space exceeded");
}

/// True if other requests would fail as well: all to this member, or all writes.
bool concerns_all(const GrpcStatus& status) {
    switch (status.code) {
        case GrpcStatus::deadline_exceeded:
        case GrpcStatus::permission_denied:
        case GrpcStatus::unavailable:
        case GrpcStatus::data_loss:
        case GrpcStatus::unauthenticated:
            return true;
        default:
            return has_no_space(status) || says(status.message, "user name is empty");
    }
}

}  // namespace

EtcdLink::EtcdLink(boost::asio::io_context& loop, const EtcdEngineOptions& options, Told told)
    : loop_(loop), options_(options), told_(std::move(told)), random_(random_seed()), timer_(loop) {}

EtcdLink::~EtcdLink() {
    *alive_ = false;
}

void EtcdLink::start() {
    attempt();
}

void EtcdLink::stop() {
    if (stopped_) return;
    stopped_ = true;
    ready_ = false;
    ++connection_;
    timer_.cancel();
    last_failure_ = "it is being left";
    if (const auto channel = std::move(channel_)) channel->close(last_failure_);
    answer_those_without_token(last_failure_);
}

void EtcdLink::attempt() {
    ++connection_;
    wait(options_.connect_within, &EtcdLink::took_too_long);
    const auto told_now = [this, connection = connection_](auto&& then) {
        return [this, connection, then](auto&&... args) {
            if (connection == connection_) then(args...);
        };
    };
    channel_ = std::make_unique<GrpcChannel>(
        loop_, GrpcChannel::Options{member(), options_.answer_within, options_.max_calls, options_.max_unsent_bytes},
        GrpcChannel::Told{told_now([this] {
                              channel_->set_metadata({{"hasleader", "true"}});
                              authenticating_ = false;
                              options_.user.empty() ? ask_status() : authenticate(true);
                          }),
                          told_now([this](const std::string& why) { fail(why); })});
}

void EtcdLink::wait(Duration pause, void (EtcdLink::*then)()) {
    timer_.expires_after(pause);
    timer_.async_wait([this, alive = alive_, then, timed = ++timed_](boost::system::error_code cancelled) {
        if (!cancelled && *alive && timed == timed_ && !stopped_) (this->*then)();
    });
}

void EtcdLink::took_too_long() {
    if (!ready_) fail("it took too long to answer");
}

void EtcdLink::authenticate(bool first) {
    authenticating_ = true;
    channel_->set_metadata({{"hasleader", "true"}});  // with an expired token even this request would be rejected
    AuthenticateRequest request;
    request.set_name(options_.user);
    request.set_password(options_.password);
    channel_->call(method::authenticate, request.SerializeAsString(),
                   [this, first, connection = connection_](const GrpcAnswer& answer) {
                       if (connection == connection_) on_authenticated(first, answer);
                   });
}

void EtcdLink::on_authenticated(bool first, const GrpcAnswer& answer) {
    authenticating_ = false;
    AuthenticateResponse response;
    // A cluster without authentication accepts everyone.
    const bool not_needed = answer.status.message.find("authentication is not enabled") != std::string::npos;
    if (!not_needed) {
        if (answer.status.code != GrpcStatus::ok) return fail("cannot authenticate: " + answer.status.message);
        if (!response.ParseFromString(answer.message) || response.token().empty())
            return fail("malformed reply to the login");
        channel_->set_metadata({{"hasleader", "true"}, {"token", response.token()}});
    }
    if (first) return ask_status();
    for (auto& request : std::exchange(without_token_, {}))
        send(std::move(request));
}

void EtcdLink::ask_status() {
    channel_->call(method::status, StatusRequest().SerializeAsString(),
                   [this, connection = connection_](const GrpcAnswer& answer) {
                       if (connection == connection_) on_status(answer);
                   });
}

void EtcdLink::on_status(const GrpcAnswer& answer) {
    StatusResponse response;
    if (answer.status.code != GrpcStatus::ok) return fail(answer.status.message);
    if (!response.ParseFromString(answer.message) || response.header().cluster_id() == 0)
        return fail("malformed reply to the status request");
    const bool other = cluster_ != 0 && response.header().cluster_id() != cluster_;
    if (other && failures_ < options_.members.size())
        return fail("it belongs to another cluster than the one that was here before");
    if (response.leader() == 0) return fail("it has no leader");
    cluster_ = response.header().cluster_id();
    version_ = response.version();
    if (std::exchange(history_lost_, false) || other) {
        revision_ = 0;
        told_.on_other_history();
    }
    told_.on_connected();
}

void EtcdLink::ready() {
    ready_ = true;
    lost_ = false;
    failures_ = 0;
    last_failure_.clear();
    told_why_.clear();
    timer_.cancel();
}

void EtcdLink::fail(const std::string& why) {
    if (!channel_ || stopped_) return;
    last_failure_ = fmt::format("etcd at {}: {}", member(), why);
    const bool was_ready = std::exchange(ready_, false);
    ++connection_;
    ++timed_;
    ++failures_;
    const auto channel = std::move(channel_);
    const bool another_reason = lost_ && says(why, "etcdserver: ") && why != told_why_;
    if (another_reason || (!lost_ && (was_ready || failures_ >= options_.members.size()))) {
        lost_ = true;
        told_why_ = why;
        told_.on_lost(last_failure_);
    }
    channel->close(last_failure_);
    answer_those_without_token(last_failure_);
    if (!stopped_) next_member();
}

void EtcdLink::next_member() {
    member_ = (member_ + 1) % options_.members.size();
    wait(failures_ % options_.members.size() == 0 ? next_pause() : Duration::zero(), &EtcdLink::attempt);
}

Duration EtcdLink::next_pause() {
    const std::size_t rounds = std::min<std::size_t>(failures_ / options_.members.size(), 10);
    const Duration whole = std::min(pause_least * (1 << rounds), Duration(max_pause));
    return whole / 2 + Duration(static_cast<std::int64_t>(random_.unit() * static_cast<double>((whole / 2).count())));
}

void EtcdLink::call(std::string_view method, const google::protobuf::MessageLite& message, Callback<GrpcAnswer> reply) {
    if (!channel_) return refuse(std::move(reply), {GrpcStatus::unavailable, last_failure_});
    if (without_token_.size() >= options_.max_calls)
        return refuse(std::move(reply), {GrpcStatus::resource_exhausted, "too much is under way"});
    auto request = std::make_unique<Request>();
    request->method = method;
    request->message = message.SerializeAsString();
    request->reply = std::move(reply);
    if (!authenticating_) return send(std::move(request));
    without_token_.push_back(std::move(request));
}

void EtcdLink::send(std::unique_ptr<Request> request) {
    request->connection = connection_;
    request->least = revision_;
    const std::string_view method = request->method, message = request->message;
    channel_->call(method, message, [this, request = std::move(request)](GrpcAnswer answer) mutable {
        on_answer(std::move(request), std::move(answer));
    });
}

void EtcdLink::on_answer(std::unique_ptr<Request> request, GrpcAnswer answer) {
    const bool current = channel_ && request->connection == connection_;
    if (current && !options_.user.empty() && !request->again && wants_another_token(answer.status)) {
        request->again = true;
        without_token_.push_back(std::move(request));
        if (!authenticating_) authenticate(false);
        return;
    }
    if (current) judge(*request, answer);
    request->reply(std::move(answer));
}

void EtcdLink::judge(const Request& request, GrpcAnswer& answer) {
    if (answer.status.code != GrpcStatus::ok) return on_trouble(answer.status);
    AnyResponse response;
    const bool parsed = response.ParseFromString(answer.message);
    const ResponseHeader& header = response.header();
    if (!parsed || header.cluster_id() == 0 || header.revision() <= 0) {
        answer.status = {GrpcStatus::internal, "malformed reply"};
        return;
    }
    const std::string why = why_lost(header, request.least);
    if (why.empty()) return saw(header.revision());
    lose_history(why);
    answer = {{GrpcStatus::unavailable, last_failure_}, {}};
}

std::string EtcdLink::why_lost(const ResponseHeader& header, std::int64_t least) const {
    if (header.cluster_id() != cluster_) return "another cluster has taken its place";
    if (header.revision() >= least) return {};
    return fmt::format("its revision went back from {} to {}, so it was restored to an earlier state", least,
                       header.revision());
}

void EtcdLink::on_trouble(GrpcStatus& status) {
    if (has_no_space(status)) status.message += "; compact and defragment it, then disarm its alarm";
    if (concerns_all(status)) fail(status.message);
}

void EtcdLink::lose_history(const std::string& why) {
    history_lost_ = true;
    fail(why);
}

void EtcdLink::stream(std::string_view method, const google::protobuf::MessageLite& message,
                      GrpcChannel::Stream stream) {
    if (channel_) channel_->stream(method, message.SerializeAsString(), std::move(stream));
}

void EtcdLink::answer_those_without_token(const std::string& why) {
    for (auto& request : std::exchange(without_token_, {}))
        request->reply({{GrpcStatus::unavailable, why}, {}});
}

void EtcdLink::refuse(Callback<GrpcAnswer> reply, GrpcStatus status) {
    auto answer = [alive = alive_, reply = std::move(reply), status = std::move(status)]() mutable {
        if (*alive) reply({std::move(status), {}});
    };
    boost::asio::post(loop_, std::move(answer));
}

}  // namespace holdfast::store::etcd
