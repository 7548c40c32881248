#include "server/greeting.h"

#include <filesystem>

namespace holdfast {

std::string to_string(const Greeting& greeting) {
    const std::string url = "http://" + greeting.address;
    std::string text = "holdfast " + greeting.version + " serving on " + url + "\n";
    if (!greeting.resp.empty()) text += "holdfast speaks the Redis protocol on redis://" + greeting.resp + "\n";
    if (!greeting.relay.empty()) text += "holdfast relays to services on " + greeting.relay + "\n";
    if (!greeting.hints) return text;
    const bool found_by_default = greeting.address == "127.0.0.1:7400";
    const std::string call = (found_by_default ? "" : "HOLDFAST_SERVER=" + url + " ") + greeting.program;
    text += "\nTry, in another terminal:\n";
    text += "  " + call + " run demo -- sleep 30    # do something under a lease\n";
    text += "  " + call + " list                    # who holds what, and for how long\n";
    text += "  " + call + " watch                   # what happens, as it happens\n";
    return text;
}

std::string path_of_this_program() {
    namespace fs = std::filesystem;
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);
    if (failed) return "holdfast";
    const fs::path here = fs::current_path(failed);
    if (failed) return program.string();
    const fs::path relative = program.lexically_relative(here);
    if (relative.empty() || *relative.begin() == "..") return program.string();
    return relative.has_parent_path() ? relative.string() : "./" + relative.string();
}

}  // namespace holdfast
