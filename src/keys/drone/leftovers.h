#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "keys/drone/backend_record.h"

namespace holdfast::drone {

/// The variable that marks what a backend started, wherever it went.
inline constexpr std::string_view backend_variable = "HOLDFAST_BACKEND_ID=";

/// Kills what an earlier life of this drone left running, all of it, and returns when it is gone (K4). What is known by
/// its process id is only touched if it was started when the record says, in this run of the machine: ids are used
/// again. Returns how many backends were found alive.
std::size_t kill_leftovers(const BackendRecords& records, const std::function<void(const std::string&)>& say);

}  // namespace holdfast::drone
