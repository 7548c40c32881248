#pragma once

#include <holdfast/export.h>
#include <holdfast/outcome.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast {

/// One resource of a lease, with its fencing token.
struct Grant {
    std::string id{};  ///< `resource#token`
    std::string resource{};
    std::string predicate{};
    std::uint64_t token =
        0;  ///< the fencing token: pass it on with every write, so that a stale one can be refused (G3)
};

/// The time left of a lease, by the holder's own clock, counted from the moment the last successful request was sent
/// (T3).
struct Remaining {
    std::chrono::nanoseconds soft{0};  ///< until the work should be asked to stop
    std::chrono::nanoseconds hard{0};  ///< until the work must be dead
    std::chrono::nanoseconds end{0};   ///< until held() turns false
};

/// The grants of one acquire, kept while this object lives. Move-only; the destructor releases.
///
/// A keeper in the background renews it in time. held() turns false on its own when the local deadline passes, even if
/// this process was stopped, suspended or cut off, and always before the server may grant the resources to another
/// (T3).
///
/// All functions may be called from any thread. Callbacks run one at a time on a thread that the leases of a client
/// share, so a slow callback delays other callbacks, but neither renewals nor held(). A callback may call any function,
/// release the lease, destroy it, and acquire another. It must not throw: an exception ends the program.
class [[nodiscard]] HOLDFAST_API Lease {
 public:
    Lease() noexcept;  ///< holds nothing
    ~Lease();
    Lease(Lease&&) noexcept;
    Lease& operator=(Lease&&) noexcept;

    /// True while the work may continue. A local check of one deadline; no lock, no system call, well under 100 ns.
    [[nodiscard]] bool held() const noexcept;

    /// The time left until held() turns false; zero if it has.
    std::chrono::nanoseconds remaining() const noexcept;
    Remaining timeline() const noexcept;

    /// granted, uncertain or lost; lost for a lease that was released or holds nothing.
    Outcome state() const;

    /// The token of the first grant. REQUIRES: granted once.
    std::uint64_t token() const;
    const std::vector<Grant>& grants() const&;
    std::vector<Grant> grants() const&&;

    /// Called once, when the lease is lost for any reason but release(): expired, revoked, barred, the deadline passed.
    /// If the lease is lost already, on_lost() itself calls it. Throws std::system_error if the callback thread cannot
    /// be started.
    void on_lost(std::function<void(const Failure&)> callback);

    /// Called after every renewal, and when a renewal failed and the lease became uncertain. If several of these happen
    /// while callbacks are busy, only the last is reported. Not called after the loss. Throws as on_lost() does.
    void on_change(std::function<void(Outcome)> callback);

    /// Reports the progress of the work: a number that rises, sent with every renewal from now on. Under a policy with
    /// an idle limit, a lease whose number does not change for that long is not renewed (R6).
    void progress(std::uint64_t count);

    /// Releases the lease, and waits up to a second for the server's answer. Returns true if the server confirmed;
    /// otherwise the lease ends, or has ended, by itself. held() is false from the start of the call. Waits for a
    /// running callback, unless it is called from a callback; no callback begins afterwards.
    bool release();

    /// Stops renewing the lease without releasing it: it ends by itself, and held() is false from now on. For a holder
    /// that restarts and resumes it (R5).
    void abandon();

    struct HOLDFAST_INTERNAL State;  ///< shared with the keeper
    explicit Lease(std::shared_ptr<State> state);

 private:
    std::shared_ptr<State> state_;
};

}  // namespace holdfast
