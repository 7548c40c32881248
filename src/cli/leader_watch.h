#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "cli/event_follower.h"
#include "cli/leader_view.h"

namespace holdfast {

/// `holdfast elect GROUP` without a command: shows who leads now, and every change as it happens, until a signal comes.
class LeaderWatch {
 public:
    explicit LeaderWatch(const Arguments& arguments);

    /// Returns the exit code.
    int run();

 private:
    /// Asks who leads. Nothing is shown if that is known already.
    Result<Answer> look();
    void look_again();
    void on_event(const StreamEvent& event);
    void show(std::string_view event, const std::string& at) const;

    std::string group_;
    std::string resource_;
    Screen screen_;
    LeaderView view_;
    EventFollower follower_;
};

}  // namespace holdfast
