#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "store/cas/engine_clock.h"
#include "store/cas/guarded_engine.h"

namespace holdfast::core {

/// What a front remembers of its engine from one start to the next, so that it notices an engine that lost something or
/// went back while the front was away (docs/decisions/0013-engines-that-forget.md).
struct FrontMemory {
    Place place;
    Duration longest = 5min;  ///< for which leases may have been granted
    /// How the engine's clock stood to this machine's; only of use until this machine is booted again.
    std::optional<ClockOffset> clock;
    std::string boot;  ///< of this machine

    bool is_empty() const { return place.marker == WriteId{}; }
    bool operator==(const FrontMemory&) const = default;
};

/// Lines of a name and a value, the last of which is a checksum.
std::string format(const FrontMemory& memory);
/// Nothing if this is not a text of format(), whole and unaltered.
std::optional<FrontMemory> parse_front_memory(std::string_view text);

}  // namespace holdfast::core
