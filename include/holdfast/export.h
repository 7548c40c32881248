#pragma once

/// Marks the public API of libholdfast. Everything else is hidden, private parts of public classes included.
#define HOLDFAST_API [[gnu::visibility("default")]]
#define HOLDFAST_INTERNAL [[gnu::visibility("hidden")]]
