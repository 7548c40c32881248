#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "client/local_core.h"
#include "client/transport.h"

namespace holdfast::client {

/// The transport to the authority of this process. There is no network, so every call is answered. Requests are
/// validated as a door validates them.
class LocalTransport final : public Transport {
 public:
    explicit LocalTransport(std::shared_ptr<Local::Core> local) : local_(std::move(local)) {}

    AcquireReply acquire(const AcquireAsk& ask, Duration timeout, const std::stop_token& stop) override;
    Result<std::vector<RenewReply>> renew(const NamedLeases& leases, Duration timeout) override;
    Result<std::vector<ReleaseReply>> release(const NamedLeases& leases, Duration timeout) override;
    Result<AgentKnown> register_agent(const AgentAsk& agent, Duration timeout) override;
    Result<void> declare_restart(const AgentAsk& agent, Duration timeout) override;
    Result<std::vector<VerifiedLease>> verify_all(const AgentAsk& agent, Duration timeout) override;
    std::shared_ptr<Transport> twin() const override { return std::make_shared<LocalTransport>(local_); }
    void stop() override;

 private:
    const std::shared_ptr<Local::Core> local_;
    std::mutex mutex_;
    std::set<Local::Core::Waiting*> waiting_;
    bool stopped_ = false;
};

}  // namespace holdfast::client
