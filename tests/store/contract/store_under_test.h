#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/store.h"

namespace holdfast::store::contract {

/// What a store has told of its own accord, as text: `r#7`, or for waiters `r 12`.
class Told final : public StoreListener {
 public:
    void on_expired(std::string_view resource, const lease::Lease& lease, Duration late) override;
    void on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) override;
    void on_changed(std::string_view resource, const lease::Lease& lease, LeaseChange change) override;

    std::vector<std::string> expired;
    std::vector<std::string> due;
    std::vector<std::string> granted, renewed, released, revoked;
    std::map<std::string, lease::Lease> last;  ///< by `r#7`: the lease as it was told of last

    static bool has(const std::vector<std::string>& lines, const std::string& line);
    static std::size_t count(const std::vector<std::string>& lines, const std::string& line);
};

/// What a store is put through besides requests. A store that cannot be says why (why_not).
enum class Ordeal : std::uint8_t {
    several_fronts,
    front_killed,      ///< nothing that it had under way is heard of any more
    engine_restarted,  ///< in good order: what it had it has again
    engine_unreachable,
    engine_slow,
    engine_clock_stepped,
    front_clock_off,
    tells_changes,  ///< no ordeal: a store that others write to tells of what they did (StoreListener::on_changed)
};

struct ContractShape {
    std::size_t fronts = 2;                ///< 1 if it cannot have several
    std::vector<Duration> clocks_ahead{};  ///< of the fronts' machines, against the first one's
    Duration patience = 20s;               ///< of fronts with an engine that does not answer: it may only be busy
};

/// One store, with as many fronts as a test wants, and with the means to make life hard for it. In whatever time it
/// runs, real or made up: a test waits only by run_until().
class StoreUnderTest {
 public:
    virtual ~StoreUnderTest() = default;

    /// The front's store, with its time set. REQUIRES: it was not killed.
    virtual Store& store(std::size_t front) = 0;
    virtual Told& told(std::size_t front) = 0;
    virtual std::uint64_t first_request(std::size_t front) const = 0;  ///< for the ids of its waiters

    /// Lets time pass and everybody work until the condition holds, or for so long. Returns whether it holds.
    virtual bool run_until(const std::function<bool()>& condition, Duration limit) = 0;
    /// How much time has passed, as a holder counts it (T3).
    virtual Duration elapsed() const = 0;

    /// Empty if it can be put through this; else the reason, for people.
    virtual std::string why_not(Ordeal ordeal) const = 0;

    // Only of what why_not() says nothing about.
    virtual void kill_front(std::size_t) {}
    virtual void start_front(std::size_t) {}  ///< a killed one, in a new life
    virtual void restart_engine() {}
    virtual void reach_engine(bool /*reachable*/) {}
    virtual void slow_engine(Duration /*each answer comes so much later*/) {}
    virtual void step_clock(Duration /*ahead*/) {}
    virtual std::size_t clock_steps_noticed(std::size_t) const { return 0; }
};

/// A store that the contract is checked against.
struct ContractStore {
    std::string name;
    std::function<std::unique_ptr<StoreUnderTest>(const ContractShape&)> make;
};

}  // namespace holdfast::store::contract
