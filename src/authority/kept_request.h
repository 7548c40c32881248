#pragma once

#include <memory>
#include <string_view>

#include "authority/requests.h"

namespace holdfast::core {

/// What was asked, in one block of as few bytes as possible, for a request that only waits: there may be a hundred
/// thousand of them. Whether its sender can be reached is no part of it.
class KeptRequest {
 public:
    KeptRequest() = default;
    explicit KeptRequest(const AcquireRequest& asked);

    std::size_t bytes() const;
    /// REQUIRES, like unpack(): something is kept.
    std::string_view holder() const;
    /// Writes all of it into `out`, reusing the memory it holds.
    void unpack(AcquireRequest& out) const;

 private:
    std::unique_ptr<char[]> bytes_;
};

}  // namespace holdfast::core
