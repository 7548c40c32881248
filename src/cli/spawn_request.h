#pragma once

#include <boost/json/object.hpp>

#include "base/result.h"
#include "cli/options.h"

namespace holdfast {

/// The body of `POST /v1/connect` for a command line, without its wait. `spawn` is there only if there is something to
/// start: --spawn, a line for the drone's shell, or --spawn-file; what was typed beside the file wins over it. Error
/// `invalid_argument` for a file that is no JSON object, or options that describe nothing.
Result<boost::json::object> connect_body(const BackendArguments& options);

}  // namespace holdfast
