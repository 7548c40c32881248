#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "store/cas/stored_record.h"

namespace holdfast::store::cas {

/// A lease of a write that may or may not have taken effect. It was never reported to anyone.
struct LostLease {
    lease::Token token = 0;
    std::string holder;
    std::string session;
    EngineTime acquired_at;

    bool operator==(const LostLease&) const = default;
};
std::vector<LostLease> lost_of(const lease::Record& record, const std::vector<lease::Token>& tokens,
                               const Moment& moment);

/// Removes them from the record. True if there were any. Another front may have given the same token to the same
/// holder, but at another time.
bool take_out(lease::Record& record, const std::vector<LostLease>& lost, const Moment& moment, const ClockRates& rates);

/// The leases of writes that were given up. Each may turn up for a while, and is then to be removed.
class LostLeases {
 public:
    explicit LostLeases(HashKey hash_key) : by_resource_(make_text_map<Entry>(hash_key)) {}

    /// They may turn up until `until`; read the record from `read_at` on.
    struct When {
        Instant read_at;
        Instant until;
    };
    void add(std::string_view resource, std::vector<LostLease> leases, When when);
    /// The leases of this resource that may turn up; null if there are none.
    const std::vector<LostLease>* find(std::string_view resource) const;

    /// The next resource to read, if one is due. It is read every second until its lost leases cannot turn up any more,
    /// and is then forgotten by note_read().
    const std::string* due(Instant now) const;
    Instant next_due() const { return due_.empty() ? Instant::max() : due_.begin()->first; }
    void begin_read(std::string_view resource, Instant now);
    /// The record was read by a request sent at `asked`. Leases that cannot turn up any more are forgotten, and removed
    /// from `lost`.
    void note_read(std::string_view resource, Instant asked, std::vector<LostLease>& lost);

 private:
    struct Entry {
        std::vector<LostLease> leases;
        Instant until;
        Instant due;
    };
    void set_due(const std::string& resource, Entry& entry, Instant at);

    TextMap<Entry> by_resource_;
    std::set<std::pair<Instant, std::string>> due_;
};

}  // namespace holdfast::store::cas
