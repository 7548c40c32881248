#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "keys/drone/backend_record.h"

namespace holdfast::drone {

/// The environment variable that marks all processes of a backend, even those that left its group.
inline constexpr std::string_view backend_variable = "HOLDFAST_BACKEND_ID=";

/// Kills all processes that an earlier incarnation of this drone left running, and returns when they are gone (K4). A
/// process known by its id is killed only if its start time and the boot of the machine match the record, since ids are
/// reused. Returns the number of backends that were found alive.
std::size_t kill_leftovers(const BackendRecords& records, const std::function<void(const std::string&)>& say);

}  // namespace holdfast::drone
