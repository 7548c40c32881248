#include "store/contract/contract.h"
#include "store/memory/memory_store.h"
#include "store/quorum/cluster.h"
#include "store/quorum/quorum_config.h"

namespace holdfast::store::contract {
namespace {

/// Time that the test makes up, in steps of its own.
constexpr Duration step = 5ms;

class MemoryUnderTest final : public StoreUnderTest {
 public:
    MemoryUnderTest() { store_.advance(now_); }

    Store& store(std::size_t) override { return store_; }
    Told& told(std::size_t) override { return told_; }
    std::uint64_t first_request(std::size_t) const override { return 1; }
    bool run_until(const std::function<bool()>& condition, Duration limit) override {
        for (const Instant end = now_ + limit; !condition();) {
            if (now_ >= end) return false;
            now_ += step;
            while (store_.advance(now_)) {
            }
        }
        return true;
    }
    Duration elapsed() const override { return now_ - Instant{}; }
    std::string why_not(Ordeal ordeal) const override {
        return ordeal == Ordeal::several_fronts ? "what is in one process's memory has one front"
                                                : "its engine is this process: there is nothing between the two";
    }

 private:
    Instant now_{1000s};
    Told told_;
    memory::MemoryStore store_{told_, {1, 2}};
};

/// Three nodes; each is a front, and the engine is all of them.
class QuorumUnderTest final : public StoreUnderTest {
 public:
    explicit QuorumUnderTest(const ContractShape& shape) : cluster_(shape_of(shape)), told_(3) {
        for (std::size_t i = 0; i < told_.size(); ++i)
            cluster_.listen(i, told_[i]);
    }

    Store& store(std::size_t front) override {
        cluster_.pass(Duration::zero());
        return cluster_.store(front);
    }
    Told& told(std::size_t front) override { return told_.at(front); }
    std::uint64_t first_request(std::size_t front) const override {
        return quorum::first_request(static_cast<quorum::NodeIndex>(front), cluster_.config(front).boot);
    }
    bool run_until(const std::function<bool()>& condition, Duration limit) override {
        for (const Duration end = cluster_.elapsed() + limit; !condition();) {
            if (cluster_.elapsed() >= end) return false;
            cluster_.pass(step);
        }
        return true;
    }
    Duration elapsed() const override { return cluster_.elapsed(); }
    std::string why_not(Ordeal ordeal) const override {
        if (ordeal == Ordeal::engine_slow) return "messages on this bus take no time; tests/sim has those that do";
        if (ordeal == Ordeal::engine_clock_stepped) return "nodes count on CLOCK_BOOTTIME, which does not step";
        return {};
    }
    void kill_front(std::size_t front) override {
        cluster_.crash(front);
        for (std::size_t other = 0; other < 3; ++other)
            if (cluster_.up(other)) cluster_.store(other).set_peer(static_cast<quorum::NodeIndex>(front), std::nullopt);
    }
    void start_front(std::size_t front) override { cluster_.start_again(front); }
    void restart_engine() override {
        for (std::size_t i = 0; i < 3; ++i)
            cluster_.restart_cleanly(i);
    }
    void reach_engine(bool reachable) override {
        for (std::size_t i = 0; i < 3; ++i)
            cluster_.cut_off(i, !reachable);
    }

 private:
    static quorum::Cluster::Shape shape_of(const ContractShape& shape) {
        quorum::Cluster::Shape made;
        for (const Duration ahead : shape.clocks_ahead)
            made.clocks.push_back({ahead, 1});
        return made;
    }
    quorum::Cluster cluster_;
    std::vector<Told> told_;
};

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract,
                         testing::Values(ContractStore{
                             "memory", [](const ContractShape&) { return std::make_unique<MemoryUnderTest>(); }}),
                         contract_name);
INSTANTIATE_TEST_SUITE_P(Quorum, StoreContract,
                         testing::Values(ContractStore{
                             "quorum",
                             [](const ContractShape& shape) { return std::make_unique<QuorumUnderTest>(shape); }}),
                         contract_name);

}  // namespace
}  // namespace holdfast::store::contract
