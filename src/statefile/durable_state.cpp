#include "statefile/durable_state.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace holdfast::statefile {

void LongestTtl::policy_took_effect(Duration ttl_max) {
    ttl_max = std::max(ttl_max, least_);
    bound_ = std::max(bound_, ttl_max);
    if (ttl_max == ttl_max_) return;
    ttl_max_ = ttl_max;
    since_.reset();
}

void LongestTtl::advance(Instant now) {
    if (!since_) since_ = now;
}

std::optional<Duration> LongestTtl::may_lower_to(Instant now) const {
    if (now < due()) return std::nullopt;
    return ttl_max_;
}

Instant LongestTtl::due() const {
    if (!since_ || ttl_max_ >= bound_) return Instant::max();
    return *since_ + bound_;
}

DurableState::DurableState(Parts parts)
    : db_(parts.db),
      post_(std::move(parts.post)),
      on_failure_(std::move(parts.on_failure)),
      on_written_(std::move(parts.on_written)) {}

DurableState::~DurableState() {
    stop();
}

void DurableState::start(LongestTtl longest_ttl) {
    longest_ttl_ = longest_ttl;
    worker_ = std::thread([this] { run(); });
}

void DurableState::reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) {
    submit([ceiling](StateDb& db) { return db.reserve_tokens(ceiling); }, std::move(done));
}

void DurableState::save_ttl_max(Duration ttl_max, Callback<Result<void>> done) {
    ++changes_under_way_;
    submit([ttl_max](StateDb& db) { return db.save_ttl_max(ttl_max); },
           [this, ttl_max, done = std::move(done)](Result<void> outcome) mutable {
               --changes_under_way_;
               if (outcome) longest_ttl_.policy_took_effect(ttl_max);
               done(std::move(outcome));
           });
}

void DurableState::save_founders(std::vector<std::uint64_t> directories, Callback<Result<void>> done) {
    submit([directories = std::move(directories)](StateDb& db) { return db.save_founders(directories); },
           std::move(done));
}

void DurableState::save_peer_lives(std::vector<store::quorum::LifeMark> lives, Callback<Result<void>> done) {
    submit([lives = std::move(lives)](StateDb& db) { return db.save_peer_lives(lives); }, std::move(done));
}

void DurableState::advance(Instant now) {
    longest_ttl_.advance(now);
    // A change on its way to the disk may be about to raise the maximum.
    if (changes_under_way_ > 0) return;
    const auto lower = longest_ttl_.may_lower_to(now);
    if (!lower) return;
    ++changes_under_way_;
    submit([ttl = *lower](StateDb& db) { return db.lower_longest_ttl(ttl); },
           [this, ttl = *lower](Result<void> outcome) {
               --changes_under_way_;
               if (outcome) longest_ttl_.lowered(ttl);
           });
}

Instant DurableState::next_deadline() const {
    return changes_under_way_ > 0 ? Instant::max() : longest_ttl_.due();
}

void DurableState::drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return jobs_.empty() && !working_; });
}

void DurableState::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_all();
    if (worker_.joinable()) worker_.join();
}

void DurableState::submit(Work work, Callback<Result<void>> done) {
    std::unique_lock lock(mutex_);
    if (!stopped_ && jobs_.size() < max_waiting) {
        jobs_.push_back({std::move(work), std::move(done)});
        changed_.notify_all();
        return;
    }
    const char* why = stopped_ ? "the server is stopping" : "too many writes wait for the disk";
    lock.unlock();
    answer(std::move(done), Error{Code::storage_failed, why});
}

void DurableState::answer(Callback<Result<void>> done, Result<void> outcome) {
    post_([this, done = std::move(done), outcome = std::move(outcome)]() mutable {
        if (!outcome && on_failure_) on_failure_(outcome.error());
        if (outcome && on_written_) on_written_();
        done(std::move(outcome));
    });
}

void DurableState::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return stopped_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        Job job = std::move(jobs_.front());
        jobs_.pop_front();
        working_ = true;
        lock.unlock();
        answer(std::move(job.done), job.work(db_));
        lock.lock();
        working_ = false;
        changed_.notify_all();
    }
}

}  // namespace holdfast::statefile
