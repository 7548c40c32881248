#pragma once

#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/cas/engine.h"

namespace holdfast::store::etcd {

/// One write as known to this front.
struct SeenWrite {
    std::int64_t revision = 0;  ///< etcd's revision of that write or deletion
    bool there = true;          ///< the key exists
    cas::WriteId write = 0;     ///< 0: the key exists only for its notice, or not at all
    cas::EngineTime since;      ///< when this front first saw it; its times count from then
    cas::EngineTime due = cas::EngineTime::max();
    std::vector<std::string> holders;
    /// Until when its holders' index keys will exist; in the past if another front wrote them.
    cas::EngineTime indexed_until = cas::EngineTime::min();
};

/// The last write of each key that this front has seen. Fed by replies and by the watch, in any order: the higher
/// revision wins. A deletion is remembered for some seconds, longer than an earlier reply can arrive after it.
class SeenWrites {
 public:
    struct Limits {
        std::size_t max_keys = 4'000'000;
        Duration deletions_for = 10s;
    };
    explicit SeenWrites(Limits limits) : limits_(limits) {}

    /// Null if this key was never seen.
    const SeenWrite* find(std::string_view key) const;

    /// Returns when the write was first seen. `seen.since` is used only if that revision was not known, or always with
    /// `own`. Nothing is remembered when the table is full.
    cas::EngineTime tell(std::string_view key, SeenWrite seen, bool own = false);
    /// The key does not exist at this revision.
    void tell_absent(std::string_view key, std::int64_t revision, cas::EngineTime now);

    /// Keys that are due before `moment`, earliest first.
    std::vector<std::string> due_before(cas::EngineTime moment, std::size_t most) const;

    /// Starts a full review: keys not reported again before end_review() are gone. Known ages are kept.
    void begin_review() { ++review_; }
    void end_review();

    /// Forgets everything, because etcd is in another history.
    void clear();

    std::size_t size() const { return keys_.size(); }
    bool full() const { return keys_.size() >= limits_.max_keys; }

 private:
    struct Entry {
        SeenWrite seen;
        std::uint64_t review = 0;
    };
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    using Keys = std::unordered_map<std::string, Entry, Hash, std::equal_to<>>;

    void put(Keys::iterator at, SeenWrite seen);
    void remove(Keys::iterator at);
    void forget_deletions(cas::EngineTime now);

    Limits limits_;
    Keys keys_;
    std::set<std::pair<cas::EngineTime, const std::string*>> due_;
    std::deque<std::pair<cas::EngineTime, std::string>> deletions_;
    std::uint64_t review_ = 0;
};

}  // namespace holdfast::store::etcd
