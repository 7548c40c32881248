#pragma once

#include <deque>

#include "base/hash.h"
#include "base/time.h"
#include "store/quorum/ballot.h"

namespace holdfast::store::quorum {

/// The ballots of one register at one acceptor.
struct BallotEntry {
    Ballot promised;
    Ballot accepted;
    Instant touched;      ///< when it last promised or accepted
    bool chosen = false;  ///< a majority is known to have accepted `accepted` and to have promised `promised` with it
};

/// The ballots of every register that this acceptor remembers. A register with nothing left to remember is dropped. The
/// highest ballot ever dropped stands for all absent registers (Q5).
class BallotTable {
 public:
    static constexpr std::size_t max_entries = 4'000'000;

    struct Keep {
        Duration accepted;  ///< after the last touch, once its record is empty
        Duration promised;  ///< if it has accepted nothing: the longest that an attempt may take
    };
    BallotTable(HashKey key, Keep keep);

    BallotEntry* find(std::string_view resource);
    /// Adds an absent register, promised at forgotten(). Null if the table is full.
    BallotEntry* add(std::string_view resource, Instant now);

    Ballot forgotten() const { return forgotten_; }
    void forget_up_to(Ballot ballot);
    std::size_t size() const { return entries_.size(); }

    /// Drops entries that are due, after examining at most `steps` of them; `is_empty(resource)` returns true if the
    /// record is empty. True if there is more to do.
    template <class IsEmpty>
    bool advance(Instant now, std::size_t steps, IsEmpty is_empty);
    Instant next_due() const;

    template <class Visit>
    void for_each(Visit visit) const {
        for (const auto& [resource, entry] : entries_)
            visit(resource, entry);
    }

 private:
    using Entries = TextMap<BallotEntry>;
    /// Each entry is queued once. If it was touched meanwhile, it is queued again at the end.
    struct Due {
        Instant at;
        Entries::value_type* entry;
    };

    Duration kept(const BallotEntry& entry) const {
        return entry.accepted == Ballot{} ? keep_.promised : keep_.accepted;
    }
    std::deque<Due>& line_of(const BallotEntry& entry) { return entry.accepted == Ballot{} ? promises_ : registers_; }
    void file(Entries::value_type& entry, Instant at) { line_of(entry.second).push_back({at, &entry}); }
    template <class IsEmpty>
    bool work_off(std::deque<Due>& line, Instant now, std::size_t& steps, IsEmpty& is_empty);

    Keep keep_;
    Entries entries_;
    std::deque<Due> promises_;
    std::deque<Due> registers_;
    Ballot forgotten_;
};

// ---- implementation ----

template <class IsEmpty>
bool BallotTable::work_off(std::deque<Due>& line, Instant now, std::size_t& steps, IsEmpty& is_empty) {
    while (!line.empty() && line.front().at <= now) {
        if (steps == 0) return true;
        --steps;
        Entries::value_type& entry = *line.front().entry;
        line.pop_front();
        const Instant until = entry.second.touched + kept(entry.second);
        if (until > now) {
            file(entry, until);
        } else if (!is_empty(entry.first)) {
            file(entry, now + kept(entry.second));
        } else {
            forget_up_to(entry.second.promised);
            entries_.erase(entries_.find(entry.first));
        }
    }
    return false;
}

template <class IsEmpty>
bool BallotTable::advance(Instant now, std::size_t steps, IsEmpty is_empty) {
    const bool more = work_off(promises_, now, steps, is_empty);
    return work_off(registers_, now, steps, is_empty) || more;
}

}  // namespace holdfast::store::quorum
