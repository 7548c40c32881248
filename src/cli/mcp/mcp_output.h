#pragma once

#include <mutex>
#include <string>

#include "supervise/fd.h"

namespace holdfast {

/// Standard output as the protocol wants it: whole lines, one at a time, from any thread. A reader that does not read
/// holds up whoever writes, but not for longer than until stop().
class McpOutput {
 public:
    explicit McpOutput(int descriptor);

    /// False if nobody reads any more.
    bool write_line(const std::string& line);
    /// From now on a write that would have to wait fails.
    void stop();

 private:
    bool is_writable() const;

    const int descriptor_;
    Fd stopped_;
    std::mutex mutex_;
    bool broken_ = false;
};

}  // namespace holdfast
