#pragma once

#include <cstdint>
#include <memory>
#include <span>
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

/// How one client asks a server, one request at a time.
class Dialect {
 public:
    virtual ~Dialect() = default;

    /// One lock; of `renew`, any number of one holder.
    virtual void ask(std::string& out, Step step, std::span<const Lock> locks) = 0;

    /// Looks at all that came since it asked.
    struct Answer {
        enum class Kind : std::uint8_t { more, good, bad } kind = Kind::more;
        std::uint64_t token = 0;  ///< of what was acquired
        std::string why;          ///< of a bad one
    };
    virtual Answer read(std::string_view input, Step step) = 0;
};

/// LEASE.ACQUIRE, LEASE.RENEW, LEASE.RELEASE
std::unique_ptr<Dialect> resp_dialect(std::uint32_t ttl_ms);
/// POST /v1/leases, …/heartbeat, DELETE
std::unique_ptr<Dialect> http_dialect(std::uint32_t ttl_ms);

/// The scripts by which people do this with Redis itself, by the name that it gave them: each acts only if the key has
/// the value that the holder gave it.
struct RedisScripts {
    std::string renew;
    std::string release;
};
/// SET NX PX and EVALSHA. Several renewals are as many commands, sent at once.
std::unique_ptr<Dialect> redis_dialect(RedisScripts scripts, std::uint32_t ttl_ms);

}  // namespace holdfast::bench
