#include "cli/failure_text.h"

#include "base/text.h"
#include "cli/api.h"

namespace holdfast {
namespace {

std::string describe(const Conflict& conflict) {
    std::string text = conflict.holder + (conflict.waiting ? " waits for " : " holds ") + conflict.resource;
    text += conflict.waiting ? " already" : " for another " + format_duration(conflict.expires_in) + " unless renewed";
    return conflict.reason.empty() ? text : text + " (" + conflict.reason + ")";
}

}  // namespace

std::string describe(const Failure& failure) {
    if (failure.code == "unreachable") return describe_unreachable(failure.message);
    std::string text;
    for (const Conflict& conflict : failure.conflicts)
        text += (text.empty() ? "" : "; ") + describe(conflict);
    if (!text.empty()) return text;
    if (!failure.retry_in) return failure.message;
    return failure.message + " (try again in " + format_duration(*failure.retry_in) + ")";
}

}  // namespace holdfast
