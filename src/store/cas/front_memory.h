#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "store/cas/engine_clock.h"
#include "store/cas/guarded_engine.h"

namespace holdfast::store::cas {

/// A front's memory of its engine from one start to the next, by which it notices an engine that lost data or went back
/// while the front was down (docs/decisions/0013-engines-that-forget.md).
struct FrontMemory {
    Place place;
    Duration longest = 5min;  ///< the longest TTL that may have been granted
    /// The offset of the engine's clock to this machine's; valid only until this machine reboots.
    std::optional<ClockOffset> clock;
    std::string boot;  ///< of this machine

    bool is_empty() const { return place.marker == WriteId{}; }
    bool operator==(const FrontMemory&) const = default;
};

/// Lines of a name and a value, the last of which is a checksum.
std::string format(const FrontMemory& memory);
/// Nullopt if this is not a complete and unaltered text of format().
std::optional<FrontMemory> parse_front_memory(std::string_view text);

}  // namespace holdfast::store::cas
