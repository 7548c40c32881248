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

namespace holdfast::core {

/// The session of an agent's requests that name none (G2).
std::string session_of_epoch(std::uint64_t epoch);

/// The registered agents: how old each is, which of its lives was last seen, and how often it was told to die (G5).
///
/// A registration is durable before it is answered. That a newer life was seen is written down as well, but no request
/// waits for that; if it fails, the agent's next request has it written once more.
///
/// Other nodes may register agents and see newer lives too. An epoch only goes up; a priority is that of whoever
/// changed it last, and requests that wait keep the one they came with (G5). When an agent was seen, and how often it
/// was told to die, is what this node knows.
class Agents {
 public:
    struct Parts {
        Durable& durable;
        std::vector<SavedAgent> saved;
        Instant now;  ///< when those count as seen
        Random random;
        std::function<void(const std::string& id)> on_changed;  ///< a life has begun or declared its end
    };
    explicit Agents(Parts parts);

    const Agent* find(std::string_view id) const;
    std::size_t size() const { return by_id_.size(); }
    AgentPage page(std::string_view after, std::size_t limit) const;

    /// Takes note of a request of this holder. Returns why it must be refused: an older epoch than the last seen. A
    /// newer one begins a new life. Nothing is known of plain holders.
    std::optional<Code> see(std::string_view holder, std::optional<std::uint64_t> epoch, Instant now);

    /// Registers an agent or brings it up to date; what the request leaves out stays, or is `priority_now`. Answers
    /// whether it is new. The caller has checked that the priority may change. An agent that was unseen for `kept`
    /// makes room for a new one.
    struct Limits {
        Priority priority_now = 0;
        Duration kept{};
    };
    void put(const AgentRequest& request, const Limits& limits, Instant now, Callback<Answer<bool>> reply);

    /// R5: this life gets nothing more. REQUIRES: it is registered.
    void declare_restart(std::string_view id);
    void forget(const std::string& id, const AuditEntry& audit, Callback<Answer<bool>> reply);

    /// What has become of an agent, whoever changed it.
    void take(const SavedAgent& saved, Instant now);
    void take_forgotten(const std::string& id);
    /// Likewise of all there are; others are forgotten.
    void take_all(const std::map<std::string, SavedAgent, std::less<>>& saved, Instant now);

    /// Counts a DIE and says how long to stay away: twice as long each time, with a random part, so that those who were
    /// told to die together do not come back together.
    Duration told_to_die(std::string_view id);
    void granted(std::string_view id);

 private:
    struct Entry {
        Agent agent;
        Instant seen;
        std::optional<Priority> saved = {};  ///< its priority, as it is registered durably; none: it is not
        bool unsaved = false;                ///< what was seen of it last could not be written down
    };
    using Entries = std::list<Entry>;  // the longest unseen first

    Entry* entry(std::string_view id);
    void touch(std::string_view id, Instant now);
    void add(Entry added);
    void erase(const std::string& id);
    void put_failed(const AgentRequest& request);
    bool make_room(Duration kept, Instant now);
    void save(const Agent& agent, Callback<Result<void>> done);
    void save_later(Entry& entry);

    Durable& durable_;
    Random random_;
    std::function<void(const std::string&)> on_changed_;
    Entries entries_;
    std::uint64_t taken_ = 0;
    std::map<std::string, Entries::iterator, std::less<>> by_id_;
};

}  // namespace holdfast::core
