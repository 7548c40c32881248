#pragma once

#include <list>
#include <set>

#include "store/cas/stored_record.h"
#include "store/cas/text_map.h"

namespace holdfast::core {

/// Leases of a record that were granted or renewed through this front, so that their holders count on them.
struct AnsweredLeases {
    struct One {
        Token token = 0;
        Duration ttl{};
        EngineTime ends;
    };
    std::vector<One> leases;
    EngineTime known_at;

    /// True if one of them is missing in what the engine shows, though it is in force and nobody has ended it: every
    /// end leaves a trace (R3). So the record itself was deleted, or put back to what it was.
    bool any_vanished(const StoredRecord& shown, EngineTime now) const;
    void keep_only(const AnsweredLeases& those);
};

/// Records as they were when this front last heard of them: a bounded number, those that were used last. What is
/// remembered is only a guess, which the engine confirms or not.
class KnownRecords {
 public:
    KnownRecords(std::size_t most, HashKey hash_key) : most_(most), records_(make_text_map<Known>(hash_key)) {}

    /// nullptr if nothing is known of it.
    const StoredRecord* find(std::string_view resource);

    /// `ours`: this front wrote it last, and sees to it at `due` that what has ended is written down.
    struct Place {
        bool ours = false;
        Instant due = Instant::max();
        WriteId replaced = 0;  ///< the write that it took the place of
    };
    void put(std::string_view resource, StoredRecord record, Place place);
    void drop(std::string_view resource);
    void clear();
    /// Somebody is heard to have written it: it is as it was known only if it is this write, or took its place.
    void drop_unless(std::string_view resource, WriteId write);

    /// These leases of a record that this front wrote last were answered.
    void note_answered(std::string_view resource, const std::vector<Token>& tokens);
    /// This front is about to write the record like this: the leases that it takes out itself, as a manifest that is
    /// rolled back does without a trace, are nothing that anybody counts on, even if the outcome is not known.
    void keep_answered(std::string_view resource, const Record& becomes);
    /// Those in the record as it is known; none if another front wrote it last.
    AnsweredLeases answered(std::string_view resource) const;
    /// The resources that have some, those that were written last first.
    std::vector<std::string> last_answered(std::size_t most) const;

    /// The next of ours whose time has come; nullptr if there is none. It has no time any more.
    const std::string* take_due(Instant now);
    Instant next_due() const { return due_.empty() ? Instant::max() : due_.begin()->first; }

    /// Of those that are ours.
    std::size_t leases() const { return leases_; }

 private:
    struct Known {
        StoredRecord record;
        Place place;
        std::vector<Token> answered;
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

}  // namespace holdfast::core
