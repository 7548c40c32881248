#pragma once

#include <cstdint>
#include <string>

#include "authority/events.h"

namespace holdfast::authority {

/// An event as doors send it to clients (docs/http-api.md). `at_wall_ms` is its time on the wall clock, for people only
/// (T1).
std::string event_json(const Event& event, std::int64_t at_wall_ms);

}  // namespace holdfast::authority
