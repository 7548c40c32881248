#pragma once

#include <functional>
#include <string>

#include "store/engine/guarded_engine.h"

namespace holdfast::core {

/// One front's part in keeping the marker (docs/decisions/0013-engines-that-forget.md): it raises the counter, and
/// makes another incarnation when the engine may have lost something, which is how all other fronts hear of it.
class EngineMarker {
 public:
    struct Parts {
        Engine& engine;
        GuardedEngine& guard;
        std::function<std::uint64_t()> random;
    };
    explicit EngineMarker(Parts parts) : parts_(std::move(parts)) {}

    /// Compares what is there with what this front has seen last. `is_known` says of another incarnation than that
    /// whether somebody has written down why; where it is not, and where the marker is gone or went back, `declare` is
    /// to write that down, and then the marker gets a new incarnation. In the end the guard requires what is there.
    struct Judges {
        std::function<bool()> is_known;
        std::function<void(const std::string& why, Callback<Result<void>> done)> declare;
    };
    void settle(Judges judges, Callback<Result<void>> done);
    /// Something else than the marker says that leases may have been lost, and it is written down: all are to hear of
    /// it.
    void renew();
    /// About once a second.
    void raise();

    WriteId seen() const { return seen_; }

 private:
    void settle_on(const Reading& found, Judges judges, Callback<Result<void>> done);
    void write(WriteId expected, WriteId becomes, Callback<Result<Swapped>> done);
    void guard_by(WriteId marker);

    Parts parts_;
    WriteId seen_;
};

}  // namespace holdfast::core
