#pragma once

#include <holdfast/outcome.h>

#include <string>

namespace holdfast {

/// Why there is no lease, in words: who holds it and until when, or what to do about it.
std::string describe(const Failure& failure);

}  // namespace holdfast
