#include "store/quorum/quorum_config.h"

namespace holdfast::core {

Duration QuorumConfig::ballot_kept() const {
    return rates().kept(longest_ttl + attempt_time);
}

Duration QuorumConfig::silence() const {
    return ballot_kept();
}

}  // namespace holdfast::core
