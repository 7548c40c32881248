#include "base/random.h"

#include <cstddef>
#include <sys/random.h>

#include "base/assert.h"
#include "base/encodings.h"

namespace holdfast::inline base {
namespace {

void fill(void* out, std::size_t bytes) {
    auto* at = static_cast<unsigned char*>(out);
    while (bytes > 0) {
        const ssize_t got = getrandom(at, bytes, 0);
        HOLDFAST_ASSERT(got > 0);
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
}

}  // namespace

std::uint64_t random_seed() {
    std::uint64_t seed = 0;
    fill(&seed, sizeof seed);
    return seed;
}

std::string random_hex(std::size_t bytes) {
    std::string raw(bytes, '\0');
    fill(raw.data(), bytes);
    return to_hex(raw);
}

}  // namespace holdfast::inline base
