#pragma once

#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/cas/engine.h"

namespace holdfast::etcd {

/// One write as this front knows it.
struct Seen {
    std::int64_t revision = 0;  ///< etcd's, of that write or deletion
    bool there = true;          ///< the key is
    core::WriteId write = 0;    ///< 0: of what is there only for its notice, or not at all
    core::EngineTime since;     ///< when this front saw it first: what its times count from
    core::EngineTime due = core::EngineTime::max();
    std::vector<std::string> holders;
    /// Until when the keys that name its holders will be there; the past if another front saw to that.
    core::EngineTime indexed_until = core::EngineTime::min();
};

/// What was written last under each key, so far as this front has seen. It is told by answers and by the watch, in any
/// order: the higher revision counts. A deletion is remembered for some seconds, longer than an answer from before it
/// may come after it.
class SeenTable {
 public:
    struct Limits {
        std::size_t max_keys = 4'000'000;
        Duration deletions_for = 10s;
    };
    explicit SeenTable(Limits limits) : limits_(limits) {}

    /// Nothing if this key was never seen.
    const Seen* find(std::string_view key) const;

    /// Returns since when it was seen. `seen.since` counts only if that revision was not known; with
    /// `own`, always. What there is no room for is not remembered.
    core::EngineTime tell(std::string_view key, Seen seen, bool own = false);
    /// There is no such key at this revision.
    void tell_absent(std::string_view key, std::int64_t revision, core::EngineTime now);

    /// Keys whose moment came before `moment`, the earliest first.
    std::vector<std::string> due_before(core::EngineTime moment, std::size_t most) const;

    /// Everything will be told anew: what is not, until end_review(), is gone. What has been learnt of ages stays.
    void begin_review() { ++review_; }
    void end_review();

    /// All of it belongs to a history that etcd is no longer in.
    void clear();

    std::size_t size() const { return keys_.size(); }
    bool full() const { return keys_.size() >= limits_.max_keys; }

 private:
    struct Entry {
        Seen seen;
        std::uint64_t review = 0;
    };
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    using Keys = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;

    void put(Keys::iterator at, Seen seen);
    void remove(Keys::iterator at);
    void forget_deletions(core::EngineTime now);

    Limits limits_;
    Keys keys_;
    std::set<std::pair<core::EngineTime, const std::string*>> due_;
    std::deque<std::pair<core::EngineTime, std::string>> deletions_;
    std::uint64_t review_ = 0;
};

}  // namespace holdfast::etcd
