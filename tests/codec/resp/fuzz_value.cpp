// Whatever bytes come: no crash, the same replies in pieces as at once, and no reply beyond its limits.

#include <algorithm>

#include "codec/resp/fuzzing.h"

using namespace holdfast::codec::resp;

namespace {

std::size_t depth_of(const Value& value) {
    std::size_t deepest = 0;
    for (const Value& item : value.items)
        deepest = std::max(deepest, depth_of(item));
    return deepest + (value.items.empty() ? 0 : 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto reading = read_both_ways<ValueReader>(data, size);
    for (const Value& value : reading.items) {
        require(depth_of(value) <= max_value_depth, "a reply is no deeper than it may be");
        require(value.type != Value::Type::map || value.items.size() % 2 == 0, "a map has a value for each key");
    }
    return 0;
}
