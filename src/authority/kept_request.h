#pragma once

#include <memory>
#include <string_view>

#include "authority/requests.h"

namespace holdfast::authority {

/// A packed AcquireRequest in one small block, for a request that only waits: there may be a hundred thousand of them.
/// Does not include `reachable`.
class KeptRequest {
 public:
    KeptRequest() = default;
    explicit KeptRequest(const AcquireRequest& asked);

    std::size_t bytes() const;
    /// REQUIRES: not empty. Likewise for unpack().
    std::string_view holder() const;
    /// Writes the request into `out`, reusing its memory.
    void unpack(AcquireRequest& out) const;

 private:
    std::unique_ptr<char[]> bytes_;
};

}  // namespace holdfast::authority
