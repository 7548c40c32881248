#pragma once

#include <string>

#include "cli/api.h"
#include "cli/event_reader.h"
#include "cli/stop_on_signal.h"

namespace holdfast {

/// Shows how a backend is and each change, over reconnects, until it has ended or SIGINT, SIGTERM or SIGHUP comes.
/// Make it before any thread.
class BackendWatch {
 public:
    BackendWatch(const CommonOptions& options, std::string target);

    /// The exit code: 0 once the backend has ended or a signal came.
    int run();

 private:
    /// False once the backend has ended.
    bool on_event(const StreamEvent& event);

    Screen screen_;
    Api api_;
    std::string target_;
    EventReader events_;
    std::string shown_;
    bool heard_ = false;
    bool ended_ = false;
    StopOnSignal stop_;
};

}  // namespace holdfast
