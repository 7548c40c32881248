#include "consensus/disk/sqlite_log_disk.h"

#include <utility>
#include <vector>

namespace holdfast::consensus::disk {

SqliteLogDisk::SqliteLogDisk(Parts parts)
    : file_(std::move(parts.file)),
      post_(std::move(parts.post)),
      on_failure_(std::move(parts.on_failure)),
      on_written_(std::move(parts.on_written)),
      worker_([this] { run(); }) {}

SqliteLogDisk::~SqliteLogDisk() {
    stop();
}

void SqliteLogDisk::write(LogWrite write, Callback<Result<void>> done) {
    std::unique_lock lock(mutex_);
    if (!stopped_ && jobs_.size() < max_waiting) {
        jobs_.push_back({std::move(write), std::move(done)});
        changed_.notify_all();
        return;
    }
    const char* why = stopped_ ? "the server is stopping" : "too many writes wait for the disk";
    lock.unlock();
    post([this, done = std::move(done), error = Error{Code::storage_failed, why}]() mutable {
        if (on_failure_) on_failure_(error);
        done(std::move(error));
    });
}

/// Called from both threads.
void SqliteLogDisk::post(Callback<> function) {
    post_(alive_.guard(std::move(function)));
}

void SqliteLogDisk::drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return (jobs_.empty() || failed_) && !working_; });
}

void SqliteLogDisk::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_all();
    if (worker_.joinable()) worker_.join();
}

/// Runs on the loop, which learns of the failure now. Writes requested from here on are independent of it.
void SqliteLogDisk::hear_of_failure(std::deque<Job> failed, const Error& error) {
    {
        const std::lock_guard lock(mutex_);
        for (Job& behind : std::exchange(jobs_, {}))
            failed.push_back(std::move(behind));
        failed_ = false;
    }
    changed_.notify_all();
    for (Job& job : failed) {
        if (on_failure_) on_failure_(error);
        job.done(error);
    }
}

void SqliteLogDisk::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return stopped_ || (!jobs_.empty() && !failed_); });
        if (jobs_.empty() || failed_) return;
        std::deque<Job> jobs = std::exchange(jobs_, {});
        working_ = true;
        lock.unlock();
        std::vector<LogWrite> writes;
        for (Job& job : jobs)
            writes.push_back(std::move(job.write));
        const Result<void> outcome = file_->write(writes);
        lock.lock();
        failed_ = !outcome;
        lock.unlock();
        answer_all(std::move(jobs), outcome);
        lock.lock();
        working_ = false;
        changed_.notify_all();
    }
}

void SqliteLogDisk::answer_all(std::deque<Job> jobs, const Result<void>& outcome) {
    if (outcome) {
        for (Job& job : jobs)
            post([this, done = std::move(job.done)]() mutable {
                if (on_written_) on_written_();
                done({});
            });
        return;
    }
    post(
        [this, jobs = std::move(jobs), error = outcome.error()]() mutable { hear_of_failure(std::move(jobs), error); });
}

}  // namespace holdfast::consensus::disk
