#pragma once

namespace holdfast {

/// Prints what did not hold and where, and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace holdfast

/// A bug if false. Always on, in release too. What a user sends must never reach one.
#define HOLDFAST_ASSERT(expression) \
    (static_cast<bool>(expression) ? void(0) : ::holdfast::assertion_failed(#expression, __FILE__, __LINE__))
