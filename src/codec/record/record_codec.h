#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "codec/check.h"
#include "lease/record.h"

namespace holdfast::saved {
class Record;
}

namespace holdfast::codec::record {

inline constexpr std::size_t max_reserved = 8192;  ///< in one record

/// Limits of the instants in a record, on both sides of zero.
struct TimeLimits {
    Duration past = 100 * 365 * 24h;
    Duration future = 100 * 365 * 24h;
};

/// Appends a Record of proto/record.proto, without building Protobuf objects: those would cost more than all the rest
/// of sending a record to another node. The bytes are those that Protobuf would write.
void append_record(const lease::Record& record, std::string& out);

/// A record as bytes that a later version of the program can read.
std::string encode_record(const lease::Record& record);

/// Nullopt if the bytes are not a record or violate an invariant of records.
std::optional<lease::Record> decode_record(std::string_view bytes);

/// The record in a parsed message. Whatever the message says, the result is within every limit: known predicates,
/// tokens below 2^53, texts as long as lease/limits.h allows, times that can be added without overflow. Leaves `to` in
/// any state if the check fails.
void read_record(const saved::Record& from, const TimeLimits& times, lease::Record& to, Check& check);

}  // namespace holdfast::codec::record
