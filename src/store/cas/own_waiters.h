#pragma once

#include <string_view>
#include <vector>

#include "store/cas/text_map.h"
#include "store/store.h"

namespace holdfast::core {

/// The requests that wait through this front, and until when they mean to. In the engine each waits for a short while
/// at a time, which this front extends: so those of a front that died are soon in nobody's way (G6).
class OwnWaiters {
 public:
    OwnWaiters(std::uint64_t front, HashKey hash_key) : front_(front), by_resource_(make_text_map<List>(hash_key)) {}

    bool is_ours(const Waiter& waiter) const { return waiter.id >> 40 == front_; }

    /// Replaces the short stored deadlines of this server's waiters by their real ones. True if one of them should be
    /// extended soon.
    bool lengthen(std::string_view resource, Record& record, Instant now) const;
    /// The record as it is to be written.
    void shorten(Record& record, Instant now) const;
    /// The record is in the engine, with these waiters; their ends are as they mean to have them.
    void note(std::string_view resource, const Record& record);
    /// The update has failed, and nobody may try it again. Those that it would have taken out of the queue are gone
    /// soon: they are not extended any more.
    void failed(std::string_view resource, Update& update, Instant now);
    /// Nobody was told that these wait; they are gone soon.
    void let_go(std::string_view resource, const std::vector<std::uint64_t>& ids);

 private:
    struct Until {
        std::uint64_t id;
        Instant until;
        bool leaving = false;
    };
    using List = std::vector<Until>;
    static const Until* find(const List& list, std::uint64_t id);

    std::uint64_t front_;
    TextMap<List> by_resource_;
};

}  // namespace holdfast::core
