#include "client/keeper_thread.h"

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/code.h"
#include "base/random.h"
#include "client/keeper.h"
#include "client/lease_state.h"
#include "client/renewals.h"
#include "client/sleeper.h"
#include "client/workers.h"

namespace holdfast::client {

namespace {

/// The number of messages that may hang before the next one has to wait.
constexpr std::size_t max_senders = 4;

Failure lost_because(const std::optional<Error>& why) {
    if (!why)
        return {.outcome = Outcome::lost,
                .code = "lease_expired",
                .message = "the lease ran out and was not to be renewed"};
    const bool silent = why->code == Code::cancelled || why->code == Code::bad_answer;
    const ErrorCode code = silent ? Code::unreachable : why->code;
    return {.outcome = Outcome::lost, .code = std::string(code.name()), .message = why->message};
}

}  // namespace

struct KeeperThread::Loop {
    Loop(Config given, std::shared_ptr<Callbacks> its_callbacks)
        : config(std::move(given)), callbacks(std::move(its_callbacks)), keeper(Random(random_seed())) {}

    void run();
    void add(const Task& task);
    void remove(Keeper::Key key);
    void stop();

 private:
    struct Kept {
        std::shared_ptr<Lease::State> lease;
        std::optional<Error> why;  ///< why the last renewal failed, if it did
    };
    /// A change to record in the lease, once no lock is held.
    struct News {
        std::shared_ptr<Lease::State> lease;
        Outcome outcome;
        std::optional<Error> why;
    };

    void apply_answers(std::vector<News>& news, HolderInstant now);
    void apply(const RenewalBatch::Answer& answer, std::vector<News>& news, HolderInstant now);
    void send_due(HolderInstant now);
    void dispatch(RenewalBatch batch);
    void send(const RenewalBatch& batch);
    void forget(Keeper::Key key, std::vector<News>& news);

    const Config config;
    const std::shared_ptr<Callbacks> callbacks;
    Sleeper alarm;
    std::mutex mutex;
    bool stopping = false;
    Keeper::Key last_key = 0;
    Keeper keeper;
    std::map<Keeper::Key, Kept> leases;
    std::vector<RenewalBatch::Answer> arrived;
    Workers workers{max_senders};  // the last member: its threads use the others
};

void KeeperThread::Loop::run() {
    std::unique_lock lock(mutex);
    while (!stopping) {
        std::vector<News> news;
        const HolderInstant now = holder_clock_now();
        apply_answers(news, now);
        for (const auto key : keeper.take_ended(now))
            forget(key, news);
        send_due(now);
        const HolderInstant next = keeper.next();
        lock.unlock();
        for (const auto& [lease, outcome, why] : news) {
            const bool calls = outcome == Outcome::lost ? lease->lose(lost_because(why)) : lease->change(outcome);
            if (calls) callbacks->submit(lease);
        }
        news.clear();
        alarm.sleep_until(next);
        lock.lock();
    }
}

void KeeperThread::Loop::apply_answers(std::vector<News>& news, HolderInstant now) {
    for (const auto& answer : std::exchange(arrived, {}))
        apply(answer, news, now);
}

void KeeperThread::Loop::apply(const RenewalBatch::Answer& answer, std::vector<News>& news, HolderInstant now) {
    const auto found = leases.find(answer.key);
    if (found == leases.end()) return;
    Kept& kept = found->second;
    const auto* granted = std::get_if<RenewalGranted>(&answer.answer);
    if (granted == nullptr) kept.why = answer.why;
    Outcome outcome = keeper.answer(answer.key, answer.answer, now);
    if (outcome == Outcome::granted && !kept.lease->move(granted->deadlines, now)) {
        keeper.remove(answer.key);
        outcome = Outcome::lost;
    }
    if (outcome == Outcome::lost) return forget(answer.key, news);
    if (outcome == Outcome::granted) kept.why = {};
    news.push_back({kept.lease, outcome, {}});
}

void KeeperThread::Loop::forget(Keeper::Key key, std::vector<News>& news) {
    const auto found = leases.find(key);
    if (found == leases.end()) return;
    news.push_back({std::move(found->second.lease), Outcome::lost, std::move(found->second.why)});
    leases.erase(found);
}

void KeeperThread::Loop::send_due(HolderInstant now) {
    const auto epoch = config.epoch->get();
    RenewalBatch batch(config.holder, epoch);
    for (const auto key : keeper.take_due(now)) {
        const Lease::State& lease = *leases.at(key).lease;
        if (batch.add(key, lease.grants, keeper.end_of(key), lease.progress())) continue;
        dispatch(std::exchange(batch, RenewalBatch(config.holder, epoch)));
        batch.add(key, lease.grants, keeper.end_of(key), lease.progress());
    }
    if (!batch.empty()) dispatch(std::move(batch));
}

/// REQUIRES: the lock is held.
void KeeperThread::Loop::dispatch(RenewalBatch batch) {
    const auto shared = std::make_shared<const RenewalBatch>(std::move(batch));
    if (workers.submit([this, shared] { send(*shared); })) return;
    for (auto& answer : shared->answers(Error{Code::unreachable, "no thread is left to renew the lease"}, {}))
        arrived.push_back(std::move(answer));
    alarm.wake();
}

void KeeperThread::Loop::send(const RenewalBatch& batch) {
    const HolderInstant sent_at = holder_clock_now();
    const auto reply = config.transport->renew(batch.names(), batch.patience(sent_at, config.timeout));
    auto answers = batch.answers(reply, {sent_at, holder_clock_now()});
    const std::lock_guard lock(mutex);
    for (auto& answer : answers)
        arrived.push_back(std::move(answer));
    alarm.wake();
}

void KeeperThread::Loop::add(const Task& task) {
    const std::lock_guard lock(mutex);
    task.lease->key = ++last_key;
    leases[last_key] = {task.lease, {}};
    keeper.add({last_key, task.deadlines, task.renew}, holder_clock_now());
    alarm.wake();
}

void KeeperThread::Loop::remove(Keeper::Key key) {
    std::shared_ptr<Lease::State> dropped;
    const std::lock_guard lock(mutex);
    keeper.remove(key);
    const auto found = leases.find(key);
    if (found == leases.end()) return;
    dropped = std::move(found->second.lease);
    leases.erase(found);
}

void KeeperThread::Loop::stop() {
    const std::lock_guard lock(mutex);
    stopping = true;
    alarm.wake();
}

KeeperThread::KeeperThread(Config config)
    : callbacks_(std::make_shared<Callbacks>()), loop_(std::make_shared<Loop>(std::move(config), callbacks_)) {
    thread_ = std::thread([loop = loop_] { loop->run(); });
}

KeeperThread::~KeeperThread() {
    loop_->stop();
    if (thread_.get_id() == std::this_thread::get_id())
        thread_.detach();
    else
        thread_.join();
    callbacks_->stop();
}

void KeeperThread::add(const Task& task) {
    loop_->add(task);
}

void KeeperThread::remove(std::uint64_t key) {
    loop_->remove(key);
}

}  // namespace holdfast::client
