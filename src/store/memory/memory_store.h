#pragma once

#include <functional>
#include <memory>

#include "base/hash.h"
#include "store/store.h"

namespace holdfast::store::memory {

/// Records in this process's memory: a hash table and a hierarchical timing wheel, O(1) per operation. It has no clock;
/// its driver passes the time (T6). No operation pays for the whole table: it grows one bucket at a time, and the sweep
/// works in bounded steps. Finding overlapping files and trees costs the depth of the path plus the number of results
/// (path_tree.h).
///
/// Callbacks run before the call returns.
class MemoryStore final : public DrivenStore {
 public:
    MemoryStore(StoreListener& listener, HashKey hash_key);
    ~MemoryStore() override;

    /// Sweeps what has ended by `now`. Expiry itself does not depend on the sweep (T2).
    bool advance(Instant now, std::size_t steps = 1000) override;
    Instant next_due() const override;

    void update(std::string_view resource, Update& update) override;
    void expect(std::span<const Expected> coming) override;
    void leases_of(std::string_view holder, Which which, std::size_t most,
                   Callback<Result<std::vector<lease::LeaseName>>> reply) override;
    void list(const ListQuery& query, Callback<Result<ListPage>> reply) override;
    std::size_t active_leases() const override;
    std::size_t memory_bytes() const override;

    /// For a clean stop (S1) and the start after it: visits every record, including reservations; restore() adds one.
    /// Waiters are not restored.
    void for_each_record(
        const std::function<void(std::string_view resource, const lease::Record& record)>& visit) const;
    void restore(std::string_view resource, const lease::Record& record);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::store::memory
