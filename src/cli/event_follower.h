#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/api.h"
#include "cli/stop_on_signal.h"

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

/// The stream of what happens to the leases that the filter lets through.
std::string events_target(const FilterOptions& filter);

/// Follows an event stream over reconnects until SIGINT, SIGTERM or SIGHUP ends it. Make it before any thread.
class EventFollower {
 public:
    struct Reader {
        std::function<void(const StreamEvent&)> on_event;
        /// The stream begins, for the first time or again: nothing is missed from here on.
        std::function<void()> on_connected{};
    };
    EventFollower(const CommonOptions& options, std::string target, Reader reader);

    /// Returns the exit code: 0 once a signal came. Fails if the server refuses, or cannot be reached to begin with.
    int run();

    /// Asks beside the stream; a signal ends that too. For the reader, and before run().
    Api& ask() { return ask_; }
    /// True if a signal came.
    bool stopped() const { return stop_.signal() != 0; }

 private:
    Result<HttpResponse> follow();
    void on_connected();

    Screen screen_;
    Api api_;
    Api ask_;
    std::string target_;
    Reader reader_;
    EventReader events_;
    bool connected_ = false;
    bool connected_once_ = false;
    StopOnSignal stop_;
};

}  // namespace holdfast
