#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lease/record.h"

namespace holdfast::codec::record {

/// A record as bytes that a later version of the program can read (proto/record.proto).
std::string encode_record(const lease::Record& record);

/// Nullopt if the bytes are not a record or violate an invariant of records.
std::optional<lease::Record> decode_record(std::string_view bytes);

}  // namespace holdfast::codec::record
