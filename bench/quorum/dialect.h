#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::bench {

enum class Step : std::uint8_t { acquire, renew, release };

/// A lock as its client knows it.
struct Lock {
    std::string name;
    std::string holder;
    std::uint64_t token = 0;  ///< of the lease that is held; none is 0
};

/// How one client asks a node of Holdfast, one request at a time.
class Dialect {
 public:
    virtual ~Dialect() = default;

    virtual void ask(std::string& out, Step step, const Lock& lock) = 0;

    /// Looks at all that came since it asked.
    struct Answer {
        enum class Kind : std::uint8_t { more, good, bad } kind = Kind::more;
        std::uint64_t token = 0;
        std::string why;  ///< of a bad one
    };
    virtual Answer read(std::string_view input, Step step) = 0;
};

std::unique_ptr<Dialect> resp_dialect(std::uint32_t ttl_ms);  ///< LEASE.ACQUIRE, LEASE.RENEW, LEASE.RELEASE
std::unique_ptr<Dialect> http_dialect(std::uint32_t ttl_ms);  ///< POST /v1/leases, …/heartbeat, DELETE

}  // namespace holdfast::bench
