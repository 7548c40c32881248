#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

/// One Server-Sent Event.
struct StreamEvent {
    std::string type;
    std::string data;
};

/// Puts the lines of an event stream together and remembers where it got to, for a reconnect.
class EventReader {
 public:
    /// Takes one line; returns an event when the line ends one.
    std::optional<StreamEvent> line(std::string_view text);

    /// A new connection starts: half an event from the old one is of no use.
    void restart();

    /// The id of the last whole event that had one.
    const std::string& last_id() const { return last_id_; }

 private:
    StreamEvent event_;
    std::string id_;
    std::string last_id_;
};

}  // namespace holdfast
