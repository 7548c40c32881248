#include "keys/drone/orders.h"

#include "lease/resource.h"

namespace holdfast::drone {

std::string lease_of(const Key& key, std::uint64_t token) {
    const std::string resource = "KEY:" + key.name;
    const auto normalised = core::normalised(resource);
    const bool elsewhere = !key.name_space.empty() && key.name_space != "default";
    return (elsewhere ? "@" + key.name_space + "/" : "") + (normalised ? *normalised : resource) + "#" +
           std::to_string(token);
}

}  // namespace holdfast::drone
