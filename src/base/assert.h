#pragma once

namespace holdfast::inline base {

/// Prints the failed expression and its location, and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace holdfast::inline base

/// False means a bug. Always on, in release too. User input must never reach an assertion.
#define HOLDFAST_ASSERT(expression) \
    (static_cast<bool>(expression) ? void(0) : ::holdfast::assertion_failed(#expression, __FILE__, __LINE__))
