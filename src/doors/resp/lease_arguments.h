#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lease/lease.h"

namespace holdfast {

/// LEASE.ACQUIRE resource holder ttl_ms [PREDICATE p] [WAIT ms] [PRIORITY n] [SCOPE connection] [REASON text]
/// [SESSION s] [NAMESPACE n] [EPOCH n] [PROGRESS ms], read and checked for form as the HTTP door does. Views of the
/// command's words.
struct AcquireArguments {
    std::string_view resource, holder, reason, session, name_space;
    core::Predicate predicate = core::Predicate::mutates;
    Duration ttl{};
    Duration wait{};
    Duration progress{};  ///< how often to show that it waits; zero: not
    std::optional<core::Priority> priority;
    std::optional<std::uint64_t> epoch;
    bool scoped = false;

    /// Nothing that only the long way through the authority can do.
    bool is_plain() const {
        return wait == Duration::zero() && !priority && !epoch && reason.empty() && session.empty();
    }
};
Result<AcquireArguments> read_acquire(std::span<const std::string_view> words);

/// A resource as a command names it, as one name. Without a namespace, and if it has that form already, it is a view of
/// what came; otherwise it is put into `room`. One that begins with `@` is taken to be a full name, where that is
/// allowed.
enum class FullNames : std::uint8_t { refused, allowed };
Result<std::string_view> one_name(std::string_view resource, std::string_view name_space, FullNames full,
                                  std::string& room);

/// A whole number of milliseconds up to 10^12; `field` is for the error.
Result<Duration> read_ms(std::string_view field, std::string_view text);
Result<core::Token> read_token(std::string_view text);
Error invalid_argument(std::string message);

}  // namespace holdfast
