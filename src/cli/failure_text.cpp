#include "cli/failure_text.h"

#include "base/text.h"
#include "cli/api.h"

namespace holdfast {
namespace {

std::string describe(const Conflict& conflict) {
    const std::string left = format_duration(conflict.expires_in);
    std::string text = conflict.holder;
    if (conflict.waiting)
        text += " waits for " + conflict.resource + " already";
    else if (conflict.reserved)
        text += " restarts and has " + conflict.resource + " reserved for another " + left;
    else
        text += " holds " + conflict.resource + " for another " + left + " unless renewed";
    return conflict.reason.empty() ? text : text + " (" + conflict.reason + ")";
}

}  // namespace

std::string describe(const Failure& failure) {
    if (failure.code == "unreachable") return describe_unreachable(failure.message);
    std::string text;
    for (const Conflict& conflict : failure.conflicts)
        text += (text.empty() ? "" : "; ") + describe(conflict);
    if (failure.outcome == Outcome::die) {
        text = "told to die, because an older agent is in the way" + (text.empty() ? "" : ": " + text);
        return failure.retry_in ? text + "; come back in " + format_duration(*failure.retry_in) : text;
    }
    if (!text.empty()) return text;
    if (!failure.retry_in) return failure.message;
    return failure.message + " (try again in " + format_duration(*failure.retry_in) + ")";
}

}  // namespace holdfast
