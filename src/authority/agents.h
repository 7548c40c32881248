#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authority/answers.h"
#include "authority/requests.h"
#include "base/callback.h"
#include "base/random.h"
#include "store/durable.h"

namespace holdfast::authority {

/// The session of an agent's requests that do not name one (G2).
std::string session_of_epoch(std::uint64_t epoch);

/// The registered agents: priority, latest epoch seen, and number of DIE answers (G5).
///
/// A registration is durable before it is answered. A newer epoch is saved as well, but no request waits for that; if
/// saving fails, the agent's next request saves it again.
///
/// Other nodes may register agents and see newer epochs too. An epoch only increases. For a priority the last change
/// wins, and waiting requests keep the priority they arrived with (G5). The time last seen and the DIE count are local
/// to this node.
class Agents {
 public:
    struct Parts {
        store::Durable& durable;
        std::vector<store::SavedAgent> saved;
        Instant now;  ///< the time last seen of the saved agents
        Random random;
        std::function<void(const std::string& id)> on_changed;  ///< a new epoch began, or the agent declared a restart
    };
    explicit Agents(Parts parts);

    const Agent* find(std::string_view id) const;
    std::size_t size() const { return by_id_.size(); }
    AgentPage page(std::string_view after, std::size_t limit) const;

    /// Records a request of this holder. Returns `stale_epoch` if the epoch is older than the latest seen; the request
    /// must then be refused. A newer epoch replaces the latest. Ignores plain holders.
    std::optional<Code> see(std::string_view holder, std::optional<std::uint64_t> epoch, Instant now);

    /// Registers an agent or updates it. An omitted field keeps its value; an omitted priority of a new agent is
    /// `priority_now`. The answer says whether the agent is new. REQUIRES: the caller has checked that the priority may
    /// change. If the limit is reached, an agent not seen for `kept` is dropped for the new one.
    struct Limits {
        lease::Priority priority_now = 0;
        Duration kept{};
    };
    void put(const AgentRequest& request, const Limits& limits, Instant now, Callback<Answer<bool>> reply);

    /// R5: the current epoch is granted nothing more. REQUIRES: the agent is registered.
    void declare_restart(std::string_view id);
    void forget(const std::string& id, const store::AuditEntry& audit, Callback<Answer<bool>> reply);

    /// Applies a change of an agent, made through any node.
    void take(const store::SavedAgent& saved, Instant now);
    void take_forgotten(const std::string& id);
    /// Replaces all agents; those not in `saved` are forgotten.
    void take_all(const std::map<std::string, store::SavedAgent, std::less<>>& saved, Instant now);

    /// Counts a DIE and returns the backoff: it doubles each time, up to a limit, with jitter, so that agents that die
    /// together do not retry together.
    Duration told_to_die(std::string_view id);
    void granted(std::string_view id);

 private:
    struct Entry {
        Agent agent;
        Instant seen;
        std::optional<lease::Priority> saved = {};  ///< the durable priority; none: not durable yet
        bool unsaved = false;                       ///< the last save failed
    };
    using Entries = std::list<Entry>;  // least recently seen first

    Entry* entry(std::string_view id);
    void touch(std::string_view id, Instant now);
    void add(Entry added);
    void erase(const std::string& id);
    void put_failed(const AgentRequest& request);
    bool make_room(Duration kept, Instant now);
    void save(const Agent& agent, Callback<Result<void>> done);
    void save_later(Entry& entry);

    store::Durable& durable_;
    Random random_;
    std::function<void(const std::string&)> on_changed_;
    Entries entries_;
    std::uint64_t taken_ = 0;
    std::map<std::string, Entries::iterator, std::less<>> by_id_;
};

}  // namespace holdfast::authority
