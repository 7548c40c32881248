#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agreed/cluster_state.h"

namespace holdfast {

/// The first entries of a log: the policy to begin with, and last the members. A log without members is not founded:
/// what is there of it is founded once more, to the same effect.
struct Founding {
    const core::Policy& policy;
    const std::vector<std::string>& members;
};
struct FoundingEntry {
    std::uint64_t id = 0;
    std::string value;
};
/// The members as they are written down: a single node may change its address.
std::vector<std::string> recorded_members(const std::vector<std::string>& members);

std::vector<FoundingEntry> founding_entries(const Founding& founding, std::uint64_t policy_version,
                                            const std::function<std::uint64_t()>& next_id);

/// A single node's log is founded before anybody can change anything, whole or not at all: all of it in one write.
/// `first_id` is of its commands.
core::LogWrite founding_alone(const Founding& founding, std::uint64_t first_id);

}  // namespace holdfast
