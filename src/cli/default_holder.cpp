#include "cli/default_holder.h"

#include <array>
#include <pwd.h>
#include <unistd.h>

namespace holdfast {

std::string default_holder() {
    std::array<char, 4096> space{};
    passwd entry{};
    passwd* found = nullptr;
    getpwuid_r(getuid(), &entry, space.data(), space.size(), &found);
    const std::string user = found != nullptr ? found->pw_name : std::to_string(getuid());
    std::array<char, 200> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) return user;
    return user + "@" + host.data();
}

}  // namespace holdfast
