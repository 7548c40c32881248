#pragma once

#include <functional>
#include <memory>

#include "base/hash.h"
#include "store/store.h"

namespace holdfast::core {

/// Records in this process's memory: a hash table and a hierarchical timing wheel, O(1) per operation, no clock of its
/// own: whoever drives it says what time it is (T6). Nothing here ever pays for everything at once: the table grows a
/// bucket at a time and the sweep works in bounded steps. Files and trees that overlap are found at the cost of the
/// depth of a path and of what is found (path_tree.h).
///
/// Calls answer before they return.
class MemoryStore final : public DrivenStore {
 public:
    MemoryStore(StoreListener& listener, HashKey hash_key);
    ~MemoryStore() override;

    /// Sweeps what has ended by then. Expiry itself does not wait for the sweep (T2).
    bool advance(Instant now, std::size_t steps = 1000) override;
    Instant next_due() const override;

    void update(std::string_view resource, Update& update) override;
    void expect(std::span<const Expected> coming) override;
    void leases_of(std::string_view holder, Which which, std::size_t most,
                   Callback<Result<std::vector<LeaseName>>> reply) override;
    void list(const ListQuery& query, Callback<Result<ListPage>> reply) override;
    std::size_t active_leases() const override;
    std::size_t memory_bytes() const override;

    /// For a clean stop (S1): every record that is worth keeping, reservations included. And for the start after
    /// it. Waiters are not kept.
    void for_each_record(const std::function<void(std::string_view resource, const Record& record)>& visit) const;
    void restore(std::string_view resource, const Record& record);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::core
