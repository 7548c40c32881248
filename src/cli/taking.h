#pragma once

#include <holdfast/client.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "cli/screen.h"
#include "supervise/fd.h"

namespace holdfast {

/// Takes leases for `run` and `elect` in a thread of its own, so that a signal can end the wait. Says whom it waits
/// for.
class Taking {
 public:
    /// The options and the screen must outlive it.
    Taking(const CommonOptions& common, const TakeOptions& take, const Screen& screen);
    ~Taking() { answer(); }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

    /// Readable when there is an answer.
    int fd() const { return done_.get(); }
    /// True if there is one within this time.
    bool wait(std::chrono::milliseconds time) const;
    /// Waits for it, if fd() is not readable.
    Acquired& answer();
    /// Breaks the wait off: an answer comes soon, and leaves no lease behind unless it is one.
    void give_up() { stop_.request_stop(); }

 private:
    void run();
    void acquire(const std::vector<Intent>& intents);
    std::optional<Failure> enrol();
    bool waits() const { return take_.wait_for_ever || take_.wait.value_or(0s) > 0s; }

    Client client_;
    const CommonOptions& common_;
    const TakeOptions& take_;
    const Screen& screen_;
    Fd done_;
    std::stop_source stop_;
    std::optional<Acquired> answer_;
    std::thread thread_;
};

}  // namespace holdfast
