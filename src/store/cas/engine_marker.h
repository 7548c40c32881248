#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/cas/front_memory.h"
#include "store/cas/guarded_engine.h"

namespace holdfast::store::cas {

/// One front's part in keeping the marker (docs/decisions/0013-engines-that-forget.md): it raises the counter, and
/// makes another incarnation when the engine may have lost something, by which all other fronts notice it.
class EngineMarker {
 public:
    struct Parts {
        Engine& engine;
        GuardedEngine& guard;
        std::function<std::uint64_t()> random;
        /// Called with the engine's time from an answer.
        std::function<void(Instant sent, EngineTime now)> on_time;
        std::function<Instant()> now;
        bool new_store = false;  ///< the operator says that an empty engine has always been empty
        FrontMemory remembered;  ///< from an earlier start; empty if there was none
    };
    explicit EngineMarker(Parts parts) : parts_(std::move(parts)), seen_(parts_.remembered.place) {}

    /// Compares the engine's place in its history with the last that this front has seen. A doubt that was not declared
    /// yet is declared, and then the marker gets a new incarnation. In the end the guard requires the engine's place.
    struct Judges {
        std::string why;       ///< another reason to doubt that leases were kept; may be empty
        bool was_met = false;  ///< a request met a loss; the engine may have passed its earlier position by now
        /// True if a doubt was declared that ended this incarnation of the marker.
        std::function<bool(std::uint64_t incarnation)> is_over;
        /// Declares a doubt that ends these incarnations.
        std::function<void(const std::string& why, const std::vector<std::uint64_t>& over, Callback<Result<void>> done)>
            declare;
    };
    void settle(Judges judges, Callback<Result<void>> done);
    /// About once a second.
    void raise();

    /// The highest place seen in the history that this front is in.
    Place seen() const;

 private:
    std::string why_doubted(const Place& there, const Judges& judges) const;
    void settle_on(const Place& there, Judges judges, Callback<Result<void>> done);
    void write(WriteId expected, WriteId becomes, Callback<Result<Swapped>> done);
    void guard_by(const Place& place);

    Parts parts_;
    Place seen_;
};

}  // namespace holdfast::store::cas
