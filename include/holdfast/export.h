#pragma once

/// Marks what libholdfast offers; everything else in it is hidden, also inside of what it offers.
#define HOLDFAST_API [[gnu::visibility("default")]]
#define HOLDFAST_INTERNAL [[gnu::visibility("hidden")]]
