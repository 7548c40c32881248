#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/alive.h"
#include "consensus/disk/log_file.h"
#include "consensus/log_messages.h"

namespace holdfast::consensus::disk {

/// The log's disk: a LogFile and a thread that writes to it, so that a disk that stalls never stalls the loop (L2,
/// Q13).
///
/// Writes happen in the order of the calls; waiting writes are combined into one transaction. Answers come on the loop,
/// in that order. At most `max_waiting` writes wait; more fail with `storage_failed`. When a write fails, all writes
/// requested before its answer was delivered fail with it: nothing is written over a gap.
class SqliteLogDisk final : public LogDisk {
 public:
    static constexpr std::size_t max_waiting = 1024;

    struct Parts {
        std::unique_ptr<LogFile> file;
        std::function<void(Callback<>)> post;               ///< runs a function on the loop; callable from any thread
        std::function<void(const Error&)> on_failure = {};  ///< on the loop, for every write that failed
        std::function<void()> on_written = {};              ///< on the loop, for every write that succeeded
    };
    /// Functions passed to `post` that have not run when the disk is destroyed do nothing.
    explicit SqliteLogDisk(Parts parts);
    ~SqliteLogDisk() override;

    void write(LogWrite write, Callback<Result<void>> done) override;

    void drain() override;
    void stop() override;

 private:
    struct Job {
        LogWrite write;
        Callback<Result<void>> done;
    };

    void post(Callback<> function);
    void run();
    void answer_all(std::deque<Job> jobs, const Result<void>& outcome);
    void hear_of_failure(std::deque<Job> failed, const Error& error);

    std::unique_ptr<LogFile> file_;
    std::function<void(Callback<>)> post_;
    std::function<void(const Error&)> on_failure_;
    std::function<void()> on_written_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool failed_ = false;  ///< until the loop was notified
    bool working_ = false;
    bool stopped_ = false;
    Alive alive_;
    std::thread worker_;
};

}  // namespace holdfast::consensus::disk
