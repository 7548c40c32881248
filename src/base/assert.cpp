#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace holdfast::inline base {

void assertion_failed(const char* expression, const char* file, int line) {
    std::fprintf(stderr, "holdfast: this is a bug: %s does not hold at %s:%d\n", expression, file, line);
    std::abort();
}

}  // namespace holdfast::inline base
