#pragma once

#include <string>

namespace holdfast {

/// Who asks if nobody said: `user@host`. The same person on the same machine is the same holder in every command, so
/// that a lease taken by one can be renewed and released by another.
std::string default_holder();

}  // namespace holdfast
