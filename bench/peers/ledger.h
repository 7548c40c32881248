#pragma once

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "peer.h"

namespace holdfast::bench {

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
        constexpr std::string_view set = "fill-";
        std::uint32_t number = 0;
        const std::string_view text = name;
        if (!text.starts_with(set)) return nullptr;
        const auto [end, error] = std::from_chars(text.data() + set.size(), text.data() + text.size(), number);
        const bool whole = error == std::errc{} && end == text.data() + text.size();
        return whole && number < filled_.size() ? &filled_[number] : nullptr;
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
