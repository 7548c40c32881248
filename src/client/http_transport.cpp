#include "client/http_transport.h"

#include <algorithm>

#include "base/clock.h"
#include "client/messages.h"

namespace holdfast::client {

namespace {

/// True if this server could not renew the lease, though another may.
bool is_absence(const RenewReply& reply) {
    const auto* error = std::get_if<Error>(&reply);
    return error != nullptr && absence_of(error->code);
}

}  // namespace

class HttpTransport::Loan {
 public:
    explicit Loan(HttpTransport& from) : from_(from), connection_(from.take()) {}
    ~Loan() { from_.give_back(std::move(connection_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    HttpConnection* operator->() { return connection_.get(); }

 private:
    HttpTransport& from_;
    std::unique_ptr<HttpConnection> connection_;
};

std::unique_ptr<HttpConnection> HttpTransport::take() {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<HttpConnection> connection;
    if (idle_.empty()) {
        connection = std::make_unique<HttpConnection>(servers_);
    } else {
        connection = std::move(idle_.back());
        idle_.pop_back();
    }
    if (stopped_) connection->stop();
    connection->resume();
    lent_.insert(connection.get());
    return connection;
}

void HttpTransport::give_back(std::unique_ptr<HttpConnection> connection) {
    const std::lock_guard lock(mutex_);
    lent_.erase(connection.get());
    if (idle_.size() < idle_max) idle_.push_back(std::move(connection));
}

void HttpTransport::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    idle_.clear();
    for (auto* connection : lent_)
        connection->stop();
}

AcquireReply HttpTransport::acquire(const AcquireAsk& ask, Duration timeout, const std::stop_token& stop) {
    auto request = acquire_request(ask);
    if (!request)
        return Failure{.outcome = Outcome::refused,
                       .code = std::string(request.error().code.name()),
                       .message = request.error().message};
    Loan connection(*this);
    request->max_silence = connection->max_silence(ask.ttl);
    const std::stop_callback on_stop(stop, [&connection] { connection->cancel(); });
    const auto response = connection->send(*request, timeout);
    if (!response) return NoAnswer{response.error().message, !connection->perhaps_done()};
    return read_acquire(ask, *response);
}

Result<std::vector<RenewReply>> HttpTransport::renew(const NamedLeases& leases, Duration timeout) {
    Loan connection(*this);
    const auto response = connection->send(renew_request(leases), timeout);
    if (!response) return response.error();
    auto replies = read_renew(leases, *response);
    if (replies && std::ranges::any_of(*replies, is_absence)) connection->pass_over();
    return replies;
}

Result<std::vector<ReleaseReply>> HttpTransport::release(const NamedLeases& leases, Duration timeout) {
    Loan connection(*this);
    const HolderInstant until = holder_clock_now() + timeout;
    std::vector<ReleaseReply> replies;
    for (const NamedLease& lease : leases.leases) {
        const Duration left = until - holder_clock_now();
        if (left <= Duration::zero()) return Error{Code::unreachable, "no time was left to release " + lease.id};
        const HttpRequest request = release_request(leases, lease.id);
        auto response = connection->send(request, left);
        if (!response) response = connection->send(request, std::max(until - holder_clock_now(), Duration::zero()));
        if (!response) return response.error();
        replies.push_back(read_release(*response));
    }
    return replies;
}

Result<AgentKnown> HttpTransport::register_agent(const AgentAsk& agent, Duration timeout) {
    const auto response = Loan(*this)->send(register_request(agent), timeout);
    if (!response) return response.error();
    return read_agent(*response);
}

Result<void> HttpTransport::declare_restart(const AgentAsk& agent, Duration timeout) {
    const auto response = Loan(*this)->send(restarting_request(agent), timeout);
    if (!response) return response.error();
    if (response->status != 200) return read_error(*response);
    return {};
}

Result<std::vector<VerifiedLease>> HttpTransport::verify_all(const AgentAsk& agent, Duration timeout) {
    const auto response = Loan(*this)->send(verify_request(agent), timeout);
    if (!response) return response.error();
    return read_verified(*response);
}

}  // namespace holdfast::client
