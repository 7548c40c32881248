#pragma once

#include <deque>

#include "agreed/agreed_state.h"
#include "agreed/replicated_founding.h"
#include "agreed/replicated_policy.h"
#include "agreed/replicated_state.h"
#include "authority/authority.h"
#include "consensus/replicated_log.h"
#include "election/candidate.h"

namespace holdfast {

using core::CommandOutcome;
using core::LogIndex;

/// Its beginning and end are in replicated_state.cpp, what passes through it in replicated_changes.cpp.
struct ReplicatedState::Impl {
    Impl(Parts given, Local known);

    Result<void> check() const;
    void report(const Error& error) const {
        if (parts.on_failure) parts.on_failure(error);
    }

    /// What the disk answers may have changed what the nodes agree on.
    class Disk final : public core::LogDisk {
     public:
        explicit Disk(Impl& impl) : impl_(impl) {}
        void write(core::LogWrite write, Callback<Result<void>> done) override;

     private:
        Impl& impl_;
    };

    // ---- commands ----
    std::optional<Error> refusal() const;
    void append(std::string entry, Callback<Result<void>> done);
    void stop();
    void save_policy(const std::optional<core::AuditEntry>& audit, const core::Policy& policy,
                     Callback<Result<void>> done);

    // ---- what was agreed on reaches this node ----
    void deliver();
    void on_local_told(const Result<void>& told);

    const core::ClusterState& state() const { return agreed.state(); }

    // ---- the first entries of a cluster's log ----
    void found_if_needed();
    void found_more();

    Parts parts;
    Local local;
    std::vector<std::string> members;
    std::shared_ptr<bool> alive = std::make_shared<bool>(true);
    bool stopped = false;
    std::optional<Error> trouble;

    std::vector<Callback<Result<void>>> until_complete;

    core::AgreedState agreed;
    std::optional<PolicyInForce> policy;
    Disk disk{*this};
    std::optional<core::ReplicatedLog> log;
    std::deque<FoundingEntry> to_found;
    std::size_t founding_under_way = 0;

    core::Authority* authority = nullptr;
    std::optional<core::Candidate> candidate;
};

}  // namespace holdfast
