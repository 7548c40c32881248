#include "server/process_numbers.h"

#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace holdfast {

void add_process_numbers(MetricNumbers& numbers) {
    std::ifstream statm("/proc/self/statm");
    double pages = 0, resident = 0;
    if (statm >> pages >> resident)
        numbers.push_back({"holdfast_memory_resident_bytes", "Memory of this process that is in RAM",
                           resident * static_cast<double>(::sysconf(_SC_PAGESIZE))});
    std::error_code failed;
    double open = 0;
    for (auto fd = std::filesystem::directory_iterator("/proc/self/fd", failed);
         !failed && fd != std::filesystem::directory_iterator(); fd.increment(failed))
        ++open;
    if (open > 0) numbers.push_back({"holdfast_open_fds", "File descriptors that are open", open - 1});  // its own
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
        numbers.push_back(
            {"holdfast_max_fds", "File descriptors that may be open", static_cast<double>(limit.rlim_cur)});
}

}  // namespace holdfast
