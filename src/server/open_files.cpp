#include "server/open_files.h"

#include <algorithm>
#include <sys/resource.h>

namespace holdfast {

void make_room_for_connections(std::size_t connections) {
    constexpr rlim_t others = 64;  // state file, log, timers, the listening socket
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    const rlim_t wanted = std::min<rlim_t>(connections + others, files.rlim_max);
    if (files.rlim_cur >= wanted) return;
    files.rlim_cur = wanted;
    setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace holdfast
