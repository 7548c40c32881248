#include "lease/owner.h"

#include "base/assert.h"
#include "lease/manifest.h"

namespace holdfast::lease {

bool is_redis_namespace(std::string_view name_space) {
    constexpr std::string_view first = "redis", others = "redis-";
    if (name_space == first) return true;
    const bool is_other = name_space.starts_with(others) && name_space.size() > others.size();
    return is_other && name_space.find_first_not_of("0123456789", others.size()) == std::string_view::npos;
}

Owner detail::owner_of_special(std::string_view full_name) {
    if (is_reserved(full_name)) return Owner::directory;
    const bool is_default = !full_name.starts_with('@');
    const SplitName split = is_default ? SplitName{default_namespace, full_name} : split_name(full_name);
    const bool is_key = has_prefix(split.resource, detail::key_prefix);
    if (!is_key && !has_prefix(split.resource, detail::leader_prefix)) return Owner::nobody;
    if (!is_default && is_redis_namespace(split.name_space)) return Owner::nobody;
    if (is_key) return Owner::keys;
    return full_name == "leader:log" ? Owner::log : Owner::leaders;
}

bool shows_session(std::string_view full_name, std::string_view session) {
    return owner_of(full_name) != Owner::leaders && !has_prefix(session, private_session);
}

Code refusal_of(Owner owner) {
    HOLDFAST_ASSERT(owner != Owner::nobody);
    return owner == Owner::directory ? Code::reserved_namespace : Code::service_lease;
}

std::string_view advice_of(Owner owner) {
    switch (owner) {
        case Owner::keys:
            return "a KEY: lease is taken and given back with its backend; end that with 'holdfast backend terminate "
                   "ID', "
                   "or revoke the key, which then stays taken until the backend is dead";
        case Owner::directory:
            return advice_of(Code::reserved_namespace);
        case Owner::leaders:
            return "a leader: lease is given back by the leader alone, with the session it was acquired in; 'holdfast "
                   "revoke' bars it from renewal, so that it runs out after the leader has stopped";
        case Owner::log:
            return "leader:log is the servers' own; 'holdfast revoke' makes the leader step down";
        case Owner::nobody:
            break;
    }
    return {};
}

}  // namespace holdfast::lease
