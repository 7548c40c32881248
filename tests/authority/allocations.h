#pragma once

#include <cstddef>

namespace holdfast::authority {

/// How often anything in this program has allocated memory, whoever did: allocations.cpp has the program's own operator
/// new.
std::size_t allocations();

}  // namespace holdfast::authority
