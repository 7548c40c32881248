#include "sim/trace.h"

#include <cstdio>

namespace holdfast::sim {

std::string seconds_text(Duration duration) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6f s", std::chrono::duration<double>(duration).count());
    return text;
}

void Trace::add(TrueInstant at, const std::string& who, const std::string& what) {
    char time[40];
    std::snprintf(time, sizeof time, "%12.6f  %-8s ", std::chrono::duration<double>(at.time_since_epoch()).count(),
                  who.c_str());
    lines_.push_back(time + what);
    if (lines_.size() > kept) lines_.pop_front();
}

}  // namespace holdfast::sim
