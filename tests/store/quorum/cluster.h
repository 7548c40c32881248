#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "authority/store_call.h"
#include "lease/rules.h"
#include "store/quorum/quorum_store.h"

namespace holdfast::store::quorum {

/// What came of a call, now or later.
template <class Value>
struct Later {
    bool done = false;
    std::optional<Value> value;
    ErrorCode error;
    std::optional<Duration> retry_in{};

    void set(const Result<Value>& result) {
        done = true;
        if (result) {
            value = *result;
            return;
        }
        error = result.error().code;
        retry_in = result.error().retry_in;
    }
};
template <class Value>
using Promised = std::shared_ptr<Later<Value>>;

/// A few nodes of a quorum in one place, under a time that the test moves, with a bus between them on which the test
/// may lose, hold, double and reorder messages. Disks answer at once unless they are stalled.
class Cluster {
 public:
    struct Clock {
        Duration ahead{};  ///< of true time, at the start
        double rate = 1;
    };
    struct Shape {
        std::uint8_t members = 3;
        Duration longest_ttl = 60s;
        double rho = 0.01;
        std::vector<Clock> clocks{};
        std::function<void(QuorumConfig&)> tune{};
    };
    explicit Cluster(const Shape& shape);
    Cluster() : Cluster(Shape{}) {}
    ~Cluster();

    QuorumStore& store(std::size_t node) { return *nodes_[node]->store; }
    QuorumConfig config(std::size_t node) const;
    std::size_t size() const { return nodes_.size(); }

    // ---- time
    Duration elapsed() const { return elapsed_; }
    Instant local_time(std::size_t node) const;
    /// Moves true time on and lets everybody do what is due on the way, with messages delivered at once.
    void pass(Duration time);
    /// Moves true time on; nobody notices but by the next call.
    void jump(Duration time) { elapsed_ += time; }

    // ---- messages
    /// What becomes of a message: asked for each when it is sent.
    enum class Fate : std::uint8_t { deliver, lose, hold, twice };
    std::function<Fate(const Envelope&)> fate;
    /// Delivers what is under way until nothing is. Answers go by `fate` too.
    void deliver();
    bool deliver_one();
    /// Puts what was held back under way.
    void let_go();
    std::deque<Envelope> flying;
    std::deque<Envelope> held;
    std::size_t sent = 0;
    void cut(std::size_t a, std::size_t b, bool is_cut = true);
    void cut_off(std::size_t node, bool is_cut = true);

    // ---- lives
    void crash(std::size_t node);
    void start_again(std::size_t node);
    void restart_cleanly(std::size_t node);
    bool up(std::size_t node) const { return nodes_[node]->store != nullptr; }
    bool disk_stalled = false;
    lease::Token durable_ceiling(std::size_t node) const { return nodes_[node]->ceiling; }

    // ---- rules through a node
    template <class Rule>
    auto apply(std::size_t node, const std::string& resource, Rule rule) {
        using Verdict = typename decltype(authority::call_rule(
            rule, std::declval<lease::Record&>(), std::declval<const lease::Neighbours&>(), Instant{}))::verdict_type;
        auto later = std::make_shared<Later<Verdict>>();
        wake(node);
        authority::apply_rule(store(node), resource, std::move(rule),
                              [later](const Result<Verdict>& result) { later->set(result); });
        look_after_disk(node);
        return later;
    }
    struct Ask {
        std::string holder;
        Duration ttl = 10s;
        lease::Predicate predicate = lease::Predicate::mutates;
        std::string session{};
    };
    /// The token, or 0 if somebody is in the way.
    Promised<lease::Token> acquire(std::size_t node, const std::string& resource, const Ask& ask);
    Promised<bool> renew(std::size_t node, const std::string& resource, lease::Token token, const std::string& holder);
    Promised<bool> release(std::size_t node, const std::string& resource, lease::Token token,
                           const std::string& holder);
    Promised<bool> wait(std::size_t node, const std::string& resource, std::uint64_t request, bool agent = false);
    Promised<lease::LeaseState> state(std::size_t node, const std::string& resource, lease::Token token);
    Promised<lease::Record> read(std::size_t node, const std::string& resource);

    /// The same, with messages delivered; fails the test if it was not answered.
    lease::Token acquired(std::size_t node, const std::string& resource, const Ask& ask);

    std::vector<std::string> told(std::size_t node) const { return nodes_[node]->told; }
    void forget_told(std::size_t node) { nodes_[node]->told.clear(); }
    /// Somebody else who is told the same; of the changes besides.
    void listen(std::size_t node, StoreListener& listener) { nodes_[node]->other = &listener; }

 private:
    struct Node final : StoreListener {
        void on_expired(std::string_view resource, const lease::Lease& lease, Duration late) override;
        void on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) override;
        void on_changed(std::string_view resource, const lease::Lease& lease, LeaseChange change) override {
            if (other != nullptr) other->on_changed(resource, lease, change);
        }

        StoreListener* other = nullptr;
        std::unique_ptr<QuorumStore> store;
        BootNumber boot = 0;
        lease::Token ceiling = 0;
        Clock clock;
        std::vector<std::string> told;
    };

    void start(std::size_t node, Instant silent_until);
    void introduce(std::size_t node);
    void wake(std::size_t node);
    void look_after_disk(std::size_t node);
    void on_send(Envelope envelope);
    bool is_cut(std::size_t a, std::size_t b) const;

    Shape shape_;
    Duration elapsed_ = 1000s;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::map<std::pair<std::size_t, std::size_t>, bool> cuts_;
};

}  // namespace holdfast::store::quorum
