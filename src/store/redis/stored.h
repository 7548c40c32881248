#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/cas/engine.h"

namespace holdfast::store::redis {

using cas::EngineTime;
using cas::Kind;
using cas::WriteId;

/// The format of a value in Redis: a human-readable line, then the bytes.
///
///     hf2 <write: 32 hexadecimal digits> <written_at: ns> <due: ns, or -> LF <bytes>
///
/// Scripts compare the beginning, through the write, as text: Lua numbers are exact only up to 2^53.
struct Stored {
    cas::StoredValue value;
    std::optional<EngineTime> due{};
};
inline constexpr std::size_t mark_bytes = 4 + 2 * WriteId::size;

/// The beginning of a value written by this write.
std::string mark_of(WriteId write);

/// Everything before the bytes.
std::string stored_header(WriteId write, EngineTime written_at, EngineTime due);

/// Returns nothing if the text does not have this format.
std::optional<Stored> read_stored(std::string text);
/// True if the value was written by a version of Holdfast whose fronts must not share an engine with this version's.
bool is_of_older_version(std::string_view text);

/// Whole microseconds of the Redis clock; exact as a Lua number for centuries. The limits of EngineTime are clamped to
/// values that no comparison reaches.
using Micros = std::int64_t;
Micros micros_down(EngineTime time);
Micros micros_up(EngineTime time);
EngineTime from_micros(Micros micros);

/// Parses the reply of TIME, from the command or from a script. Returns nothing if it is malformed.
std::optional<Micros> read_time(std::string_view seconds, std::string_view micros);

/// The keys of one store in a Redis. In a cluster the prefix is their hash tag: all keys are in one slot, so one master
/// has them all and a script may access any of them.
class Keys {
 public:
    static constexpr std::uint32_t due_sets = 16;
    /// A member of a due set is a front's name, of this length, followed by the resource.
    static constexpr std::size_t front_bytes = 12;

    enum class In : std::uint8_t { one_redis, cluster };
    Keys(std::string_view prefix, In in);

    std::string kept(Kind kind, std::string_view name) const {
        return (kind == Kind::record ? record_ : document_) + std::string(name);
    }
    std::string holder(std::string_view holder) const { return holder_ + std::string(holder); }
    std::string folder(std::string_view scope, std::string_view path) const;
    std::string due(std::uint32_t set) const { return due_ + std::to_string(set); }
    std::string due_of(std::string_view resource) const;
    /// The counter of the store's position (cas::Position).
    const std::string& position() const { return position_; }

    /// A SCAN pattern for names with this prefix.
    std::string pattern(Kind kind, std::string_view name_prefix) const;
    std::string_view name_of(Kind kind, std::string_view key) const;

 private:
    std::string record_, document_, holder_, folder_, due_, position_;
};

}  // namespace holdfast::store::redis
