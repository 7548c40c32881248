#pragma once

#include <holdfast/agent.h>

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/time.h"
#include "client/agent/agent_core.h"
#include "client/agent/intent_machine.h"

namespace holdfast {

/// Performs the actions of an IntentMachine: one run of Agent::perform(), on the calling thread. The work is paused
/// while it blocks in go_on().
struct Work::Core {
    Core(Agent::Core& agent, std::vector<Intent> intents, const WorkOptions& options);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    Performed run(const std::function<bool(Work&)>& function);

    bool go_on();
    bool held() const noexcept;
    std::vector<Grant> grants() const;
    void progress(std::uint64_t count);

 private:
    using Event = client::agent::IntentMachine::Event;

    /// Processes this event and the following ones until the work may continue (true) or is over (false).
    bool drive(Event event);
    Event act(client::agent::IntentMachine::Action action);
    Event plan();
    Event begin_life();
    Event ask(Duration wait);
    Event rest();
    Event verify();
    Performed finish();

    void tell(IntentState from, client::agent::IntentMachine::Action action) const;
    bool tell_of_trouble_with_asking(const Failure& failure) const;
    void take(Lease lease);
    void drop_lease();
    Lease take_lease();
    void note_trouble(const Failure& why);
    void note_renewal();
    std::optional<Failure> take_trouble();
    std::optional<Failure> stopped() const;
    Duration patience_left() const;
    void have_patience();

    Agent::Core& agent_;
    const std::vector<Intent> intents_;
    const WorkOptions& options_;
    client::agent::IntentMachine machine_;
    HolderInstant patience_end_{};
    HolderInstant acquired_at_{};
    std::optional<Failure> last_why_;  ///< the latest failure, reported if the patience runs out
    bool over_ = false;

    mutable std::mutex mutex_;  ///< guards the members below, which other threads use
    Lease lease_;
    std::vector<Grant> grants_;  ///< the latest
    std::optional<std::uint64_t> progress_;
    std::optional<Failure> trouble_;
};

}  // namespace holdfast
