#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/checker.h"
#include "store/quorum/quorum_store.h"

namespace holdfast::sim {

/// One possible next event in a small cluster.
struct Step {
    enum class Kind : std::uint8_t { deliver, lose, fire, crash };
    Kind kind = Kind::deliver;
    unsigned node = 0;          ///< the node of the event; for a message, its receiver
    std::uint64_t message = 0;  ///< for `deliver` and `lose`
};

/// Three nodes, two of which are asked, by different holders, for the same resource. Nothing happens by itself: every
/// delivered or lost message, every timer and every crash is a step that the caller takes. A node depends only on its
/// own steps and their order, so the histories of the nodes are the state of the cluster.
class SmallCluster {
 public:
    static constexpr unsigned nodes = 3;
    static constexpr unsigned askers = 2;

    SmallCluster();
    ~SmallCluster();

    /// Messages under way, by a number that depends only on the history of their sender.
    const std::map<std::uint64_t, store::quorum::Envelope>& under_way() const { return under_way_; }
    bool has_timer(unsigned node) const;  ///< and there is work for it
    bool answered(unsigned asker) const;
    bool granted(unsigned asker) const;
    bool all_answered() const;

    void take(const Step& step);
    /// The state after a step, without taking it.
    std::uint64_t state_after(const Step& step) const;
    std::uint64_t state() const;

    /// The rule that is broken now, if any.
    std::optional<Violation> violation() const;
    /// Drops all messages under way and lets a node read the register: a grant must be in it.
    std::optional<Violation> violation_at_end();

    std::string describe(const Step& step) const;

 private:
    class Ask;
    struct Place {
        std::unique_ptr<store::quorum::QuorumStore> store;
        Instant now;
        store::quorum::BootNumber boot = 1;
        std::uint64_t sent = 0;
        std::uint64_t history = 0;
    };
    void start(unsigned node, Instant silent_until);
    void introduce();
    void ask(unsigned node, Ask& ask);
    static std::uint64_t after(std::uint64_t history, const Step& step);

    class Deaf;
    std::unique_ptr<Deaf> listener_;
    std::array<std::unique_ptr<Ask>, askers> asks_;
    std::unique_ptr<Ask> reader_;
    std::array<Place, nodes> places_;
    std::map<std::uint64_t, store::quorum::Envelope> under_way_;
    std::uint64_t lost_ = 0;
};

}  // namespace holdfast::sim
