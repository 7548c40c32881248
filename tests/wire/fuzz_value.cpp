// Whatever bytes come: no crash, the same replies in pieces as at once, and no reply beyond its limits.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "wire/reading.h"

using namespace holdfast::resp;

namespace {

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

std::size_t depth_of(const Value& value) {
    std::size_t deepest = 0;
    for (const Value& item : value.items)
        deepest = std::max(deepest, depth_of(item));
    return deepest + (value.items.empty() ? 0 : 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    // The first byte says how long the pieces are.
    const std::size_t step = 1 + data[0] % 16;
    const std::string_view stream(reinterpret_cast<const char*>(data + 1), size - 1);
    std::vector<std::size_t> cuts;
    for (std::size_t cut = 0; cut < stream.size(); cut += step)
        cuts.push_back(cut);

    const auto reading = read_at_once<ValueReader>(stream);
    require(read_in_pieces<ValueReader>(stream, cuts) == reading, "pieces are read as the whole");
    for (const Value& value : reading.items) {
        require(depth_of(value) <= value_depth_most, "a reply is no deeper than it may be");
        require(value.type != Value::Type::map || value.items.size() % 2 == 0, "a map has a value for each key");
    }
    return 0;
}
