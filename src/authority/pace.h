#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

namespace holdfast::authority {

/// How much a step of long work may still do, in units of about the work on one record. A number and not a time, since
/// the authority has no clock.
class Allowance {
 public:
    explicit Allowance(std::size_t units) : left_(units) {}

    void use(std::size_t units = 1) { left_ -= std::min(left_, units); }
    bool is_used_up() const { return left_ == 0; }

 private:
    std::size_t left_;
};

/// The allowance of a step in a time slice of its connection.
inline constexpr std::size_t units_per_step = 200;
/// The allowance for the work of earlier requests before a request. It is small, since that request pays for it.
inline constexpr std::size_t units_before_request = 16;

/// A step of work that grows with the number of leases, such as a renewal of all leases of a holder. It works until the
/// allowance is used up. Returns true if there is more to do now.
using WorkStep = std::function<bool(Allowance&)>;

/// Where the steps of a request run: calls the step, the first time at once, until it returns false. If nobody needs
/// the result any more, it may drop the step instead; what the earlier calls did stays done.
using Pace = std::function<void(WorkStep)>;

}  // namespace holdfast::authority
