#pragma once

#include <holdfast/local.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "authority/authority.h"
#include "client/forks.h"
#include "client/sleeper.h"
#include "store/memory/memory_store.h"

namespace holdfast {

/// The authority of this process. An authority may be used by one thread at a time; a mutex ensures that here, not a
/// dedicated thread, so that callers run their requests themselves without a hand-over. A timer thread handles only the
/// events that have no caller: leases that end, and waiters whose turn comes by that.
struct Local::Core {
    Core();
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    /// One acquire that waits for its answer. Owned by the requesting thread.
    struct Waiting {
        std::condition_variable answered;
        std::optional<authority::AcquireAnswer> answer;
        authority::Authority::WaitTicket ticket = 0;
        bool cancelled = false;
    };

    /// Blocks until the authority answers, which happens by the end of the request's wait. Other threads may pass
    /// `waiting` to cancel(), even before this call: then nothing is requested.
    authority::AcquireAnswer acquire(authority::AcquireRequest request, Waiting& waiting);
    void cancel(Waiting& waiting);
    std::vector<authority::RenewAnswer> renew(authority::RenewRequest request);
    authority::Answer<authority::ReleaseAnswer> release(authority::ReleaseRequest request);
    authority::Answer<authority::AgentAnswer> put_agent(authority::AgentRequest request);
    authority::Answer<authority::RestartAnswer> declare_restart(authority::AgentRequest request);
    authority::Answer<std::vector<authority::VerifyAnswer>> verify_all(authority::AgentRequest request);

    const std::uint32_t born = client::forks();

 private:
    /// Confirms every write at once and saves nothing: no lease here outlives the process.
    struct Forgetful final : store::Durable {
        void reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) override;
        void submit(store::Change change, std::optional<store::AuditEntry> audit, Callback<Result<void>> done) override;
    };

    /// Runs one request that the authority answers before the call returns, since this store never blocks.
    template <class T, class Call>
    T run(Call call);

    void tick();
    void rearm();
    void run_timer();

    Forgetful durable_;
    authority::Authority authority_;
    store::memory::MemoryStore store_;
    client::Sleeper alarm_;
    std::mutex mutex_;
    bool stopping_ = false;
    Instant armed_ = Instant::max();
    std::thread timer_;
};

}  // namespace holdfast
