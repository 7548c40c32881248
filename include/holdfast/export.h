#pragma once

/// Marks what libholdfast offers; everything else in it is hidden, also inside of what it offers.
#define HOLDFAST_API __attribute__((visibility("default")))
#define HOLDFAST_INTERNAL __attribute__((visibility("hidden")))
