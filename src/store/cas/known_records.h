#pragma once

#include <list>
#include <set>

#include "base/hash.h"
#include "store/cas/stored_record.h"

namespace holdfast::store::cas {

/// Leases of a record that were granted or renewed through this front, so that their holders count on them.
struct AnsweredLeases {
    struct One {
        lease::Token token = 0;
        Duration ttl{};
        EngineTime ends;
    };
    std::vector<One> leases;
    EngineTime known_at;

    /// True if one of them is missing in the record that the engine shows, though it is in force and was not ended:
    /// every end leaves a trace (R3). So the record itself was deleted or reverted.
    bool any_vanished(const StoredRecord& shown, EngineTime now) const;
    void keep_only(const AnsweredLeases& those);
};

/// Records as this front last knew them: a bounded number, the most recently used. A remembered record is only a guess,
/// which the engine confirms or not.
class KnownRecords {
 public:
    KnownRecords(std::size_t most, HashKey hash_key) : most_(most), records_(make_text_map<Known>(hash_key)) {}

    /// Null if the record is not remembered.
    const StoredRecord* find(std::string_view resource);

    /// `ours`: this front wrote it last, and removes ended entries from it at `due`.
    struct Place {
        bool ours = false;
        Instant due = Instant::max();
        WriteId replaced = 0;  ///< the write that it replaced
    };
    void put(std::string_view resource, StoredRecord record, Place place);
    void drop(std::string_view resource);
    void clear();
    /// A front has written the record: forgets it unless the remembered one is this write or replaced it.
    void drop_unless(std::string_view resource, WriteId write);

    /// These leases of a record that this front wrote last were answered.
    void note_answered(std::string_view resource, const std::vector<lease::Token>& tokens);
    /// This front is about to write this record. Leases that it removes itself, such as those of a rolled-back
    /// manifest, which leave no trace, are no longer counted on, even if the outcome of the write is unknown.
    void keep_answered(std::string_view resource, const lease::Record& becomes);
    /// The answered leases in the remembered record; none if another front wrote it last.
    AnsweredLeases answered(std::string_view resource) const;
    /// The resources with answered leases, most recently written first.
    std::vector<std::string> last_answered(std::size_t most) const;

    /// The next of ours that is due, which is then unscheduled; null if there is none.
    const std::string* take_due(Instant now);
    Instant next_due() const { return due_.empty() ? Instant::max() : due_.begin()->first; }

    /// The number of leases in records that are ours.
    std::size_t leases() const { return leases_; }

 private:
    struct Known {
        StoredRecord record;
        Place place;
        std::vector<lease::Token> answered;
        std::list<const std::string*>::iterator used;
    };
    using Records = TextMap<Known>;

    void leave(const std::string& resource, Known& known);

    std::size_t most_;
    Records records_;
    std::list<const std::string*> used_;  ///< the last one first
    std::set<std::pair<Instant, std::string_view>> due_;
    std::size_t leases_ = 0;
};

}  // namespace holdfast::store::cas
