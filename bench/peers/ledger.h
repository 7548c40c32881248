#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "peer.h"

namespace holdfast::bench {

/// Which one of a numbered set it is; none if it is not of that set.
inline std::optional<std::uint32_t> number_in(std::string_view set, std::string_view name) {
    if (!name.starts_with(set)) return std::nullopt;
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + set.size(), name.data() + name.size(), number);
    if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
    return number;
}

/// What a peer knows of its grants: those of single names, and those of the set that fill() took, a million of them
/// say, by their number.
template <class Known>
class Ledger {
 public:
    /// The last grant of a name, from now on this one.
    void write(const std::string& name, Known known) {
        if (Known* old = find(name))
            *old = std::move(known);
        else
            single_.emplace(name, std::move(known));
    }
    Known* find(const std::string& name) {
        if (const auto found = single_.find(name); found != single_.end()) return &found->second;
        const auto number = number_in("fill-", name);
        return number && *number < filled_.size() ? &filled_[*number] : nullptr;
    }
    Known& expect(const std::string& name) {
        Known* known = find(name);
        if (!known) throw std::runtime_error("there never was a grant of " + name);
        return *known;
    }

    std::vector<Known>& filled() { return filled_; }
    void clear() {
        single_.clear();
        filled_ = {};
    }

 private:
    std::unordered_map<std::string, Known> single_;
    std::vector<Known> filled_;
};

/// Calls `take` with ranges that are one behind the other, `most` at a time.
template <class Take>
void in_batches(Range range, std::uint32_t most, Take take) {
    for (std::uint32_t done = 0; done < range.count; done += most)
        take(Range{range.first + done, std::min(most, range.count - done)});
}

}  // namespace holdfast::bench
