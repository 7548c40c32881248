#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/cas/engine.h"

namespace holdfast::store::redis {

using cas::EngineTime;
using cas::Kind;
using cas::WriteId;

/// The format of a value in Redis: the first 46 bytes, the holders, a line of times, and the bytes.
///
///     hf3 <write: 32 hexadecimal digits> <bytes of the holders: 8 hexadecimal digits> LF
///     <holder> LF …
///     <written_at: ns> <due: us, or -> <keep_until: us, or -> <length of the name of each folder> … LF
///     <bytes>
///
/// Scripts compare the beginning, through the write, as text: Lua numbers are exact only up to 2^53. They read the rest
/// of the header, which names the sets that the record is in. A document has neither holders nor folders.
inline constexpr std::size_t mark_bytes = 4 + 2 * WriteId::size;

/// The beginning of a value written by this write.
std::string mark_of(WriteId write);

/// Everything before the bytes of a value that this swap writes.
std::string stored_header(const cas::Swap& swap);

/// Returns nothing if the text does not have this format.
std::optional<cas::StoredValue> read_stored(std::string text);
/// True if the value was written by a version of Holdfast whose fronts must not share an engine with this version's.
bool is_of_older_version(std::string_view text);

/// The notices of one call of `swap` share a message: each is preceded by its length.
std::string with_length(std::string_view notice);
/// Empty if the text does not have this format: then somebody else uses the channel.
std::vector<std::string_view> notices_in(std::string_view message);

/// Whole microseconds of the Redis clock; exact as a Lua number for centuries. The limits of EngineTime are clamped to
/// values that no comparison reaches.
using Micros = std::int64_t;
Micros micros_down(EngineTime time);
Micros micros_up(EngineTime time);
EngineTime from_micros(Micros micros);

/// Parses the reply of TIME, from the command or from a script. Returns nothing if it is malformed.
std::optional<Micros> read_time(std::string_view seconds, std::string_view micros);

/// Deeper folders have no set of their own: their contents are in the set of the deepest ancestor that has one. A path
/// of 2,000 parts must not cost 2,000 writes.
inline constexpr std::size_t max_folder_depth = 64;

/// The folders above a path that have a set, from the root down. For a tree, its own folder is not included.
std::vector<std::string_view> folders_above(std::string_view path);
/// The folder whose set contains everything below this one.
std::string_view folder_with_set(std::string_view folder);
/// The names of these folders: scope and path (lease/resource.h). Empty if the resource is no file.
std::vector<std::string_view> folders_of(std::string_view resource);

/// The keys of one store in a Redis. In a cluster the prefix is their hash tag: all keys are in one slot, so one master
/// has them all and a script may access any of them.
class Keys {
 public:
    enum class In : std::uint8_t { one_redis, cluster };
    Keys(std::string_view prefix, In in);

    std::string kept(Kind kind, std::string_view name) const {
        return (kind == Kind::record ? record_ : document_) + std::string(name);
    }
    std::string holder(std::string_view holder) const { return holder_ + std::string(holder); }
    /// `folder` is the scope and the path (lease/resource.h).
    std::string folder(std::string_view folder) const { return folder_ + std::string(folder); }
    const std::string& due() const { return due_; }
    /// The counter of the store's position (cas::Position).
    const std::string& position() const { return position_; }

    /// A SCAN pattern for names with this prefix.
    std::string pattern(Kind kind, std::string_view name_prefix) const;
    std::string_view name_of(Kind kind, std::string_view key) const;

 private:
    std::string record_, document_, holder_, folder_, due_, position_;
};

}  // namespace holdfast::store::redis
