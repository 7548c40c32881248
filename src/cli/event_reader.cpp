#include "cli/event_reader.h"

#include <utility>

namespace holdfast {

std::optional<StreamEvent> EventReader::line(std::string_view text) {
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty()) {
        if (!id_.empty()) last_id_ = id_;
        id_.clear();
        StreamEvent done = std::exchange(event_, {});
        if (done.type.empty() && done.data.empty()) return std::nullopt;
        return done;
    }
    const std::size_t colon = text.find(':');
    if (colon == 0 || colon == std::string_view::npos) return std::nullopt;  // a comment, or a field without value
    const std::string_view field = text.substr(0, colon);
    std::string_view value = text.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "id") id_ = value;
    if (field == "event") event_.type = value;
    if (field == "data") event_.data.append(event_.data.empty() ? "" : "\n").append(value);
    return std::nullopt;
}

void EventReader::restart() {
    event_ = {};
    id_.clear();
}

}  // namespace holdfast
