#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "cli/table.h"

namespace holdfast {

/// How backends and keys are shown to people.

/// `room-1`, or `@team/room-1` outside the default namespace.
std::string shown_key(const boost::json::value& key);
/// `terminated (idle)`, `ready (its drone may be dead)`, or only the state if there is no reason and no doubt.
std::string state_of(const boost::json::value& backend);
Colour colour_of_state(std::string_view state);
/// The state and, if there is one, the address, or how it ended.
std::string status_line(const boost::json::value& backend, bool colours);

std::string or_dash(std::string text);

}  // namespace holdfast
