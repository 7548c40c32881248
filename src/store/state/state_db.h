#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lease/policy.h"
#include "lease/record.h"
#include "store/durable.h"
#include "store/state/boot_clock.h"
#include "store/state/sqlite.h"

namespace holdfast {

/// How the life before this one ended.
enum class LastStop : std::uint8_t { none, clean, unclean };

/// What a start finds: all that an authority must know of the lives before it.
struct Found {
    LastStop last_stop = LastStop::none;
    core::Token token_ceiling = 0;         ///< every token up to here may have been issued (G3)
    core::Policy policy;                   ///< R7: durable
    std::vector<core::SavedAgent> agents;  ///< G5: in the order of their ids

    /// S1: until here leases of earlier lives may be alive that nobody knows. Reservations (R5) are lost along with the
    /// leases in an unclean stop, and this need not last longer for them: what is reserved is not used, so no two can
    /// come to use it.
    Instant recovering_until{};
};

/// An agent that is to be stored, or forgotten: then only its id counts.
struct AgentChange {
    core::SavedAgent agent;
    bool forgotten = false;
};

/// The state file: token ceiling, policy, bans, agents and, between a clean stop and the next start, the live records.
///
/// Blocking. Used by one thread at a time: the one that starts, then DurableState's worker, then the one that stops.
/// Every call is one transaction, durable once it returns success. Errors: see sqlite.h.
class StateDb {
 public:
    /// Reads what is there; `clock` is read once for the whole start (T6). Changes nothing that matters to a later
    /// start.
    static Result<std::unique_ptr<StateDb>> open(const std::string& path, ClockReading clock);

    const Found& found() const { return found_; }

    using TakeUp = std::function<void(std::string_view resource, const core::Record& record)>;
    /// Begins this life: hands over the records of a clean stop, on this life's clock and settled, and marks the state
    /// unclean until stop_cleanly(). One transaction, so that records are taken up once. Nothing may be granted before
    /// it succeeded. Returns the longest TTL that now counts (longest_ttl.h).
    Result<Duration> begin(const TakeUp& take_up);

    /// Never lowers it (G3).
    Result<void> reserve_tokens(core::Token ceiling);

    /// Raises the longest TTL along with the policy (S1).
    Result<void> save_policy(const core::Policy& policy);
    Result<void> lower_longest_ttl(Duration ttl);

    /// In this order. To forget one that is not there is success.
    Result<void> change_agents(const std::vector<AgentChange>& changes);

    using Records = std::function<void(const TakeUp& save)>;
    /// Ends this life: writes the live records down and marks the state clean. Nothing may be granted, renewed or
    /// released after the clock was read. A recovery that is not over goes on in the next life.
    Result<void> stop_cleanly(const ClockReading& clock, Instant recovering_until, const Records& records);

 private:
    StateDb(std::unique_ptr<Sqlite> database, ClockReading clock);

    void read_found();
    void read_policy();
    void read_agents();
    Duration take_up_records(const TakeUp& take_up);
    std::int64_t meta(std::string_view name);
    void set_meta(std::string_view name, std::int64_t value);

    std::unique_ptr<Sqlite> database_;
    ClockReading clock_;
    Found found_;
    Duration shift_{};  ///< from the clock of the clean stop to this life's
    std::map<std::string, core::Ban, std::less<>> saved_bans_;
};

}  // namespace holdfast
