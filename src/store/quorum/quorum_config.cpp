#include "store/quorum/quorum_config.h"

#include "base/mutant.h"

namespace holdfast::core {

Duration QuorumConfig::ballot_kept() const {
    return rates().kept(longest_ttl + attempt_time);
}

Duration QuorumConfig::silence() const {
    if (mutant("half_silence")) return ballot_kept() / 2;
    return ballot_kept();
}

}  // namespace holdfast::core
