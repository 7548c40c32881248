#pragma once

#include <string_view>
#include <vector>

#include "base/hash.h"
#include "store/cas/request_number.h"
#include "store/store.h"

namespace holdfast::store::cas {

/// The requests that wait through this front, with their real deadlines. In the engine each waits for a short time,
/// which this front extends: the waiters of a dead front soon block no one (G6).
class OwnWaiters {
 public:
    OwnWaiters(std::uint64_t front, HashKey hash_key) : front_(front), by_resource_(make_text_map<List>(hash_key)) {}

    bool is_ours(const lease::Waiter& waiter) const { return request_origin(waiter.id) == front_; }

    /// Replaces the short stored deadlines of this server's waiters by their real ones. True if one of them should be
    /// extended soon.
    bool lengthen(std::string_view resource, lease::Record& record, Instant now) const;
    /// Shortens the deadlines of this front's waiters for writing.
    void shorten(lease::Record& record, Instant now) const;
    /// The record is in the engine, with these waiters; their deadlines here are the real ones.
    void note(std::string_view resource, const lease::Record& record);
    /// The update has failed and may not be retried. The waiters that it would have removed from the queue are no
    /// longer extended, so they end soon.
    void failed(std::string_view resource, Update& update, Instant now);
    /// These waiters were never reported as waiting; they are not extended and end soon.
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

}  // namespace holdfast::store::cas
