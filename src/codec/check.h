#pragma once

#include <string>
#include <string_view>

namespace holdfast::codec {

/// Records the first violation in a message.
class Check {
 public:
    /// Returns `holds`.
    bool that(bool holds, std::string_view what) {
        if (!holds && why_.empty()) why_ = what;
        return holds;
    }
    bool fails() const { return !why_.empty(); }
    const std::string& why() const { return why_; }

 private:
    std::string why_;
};

}  // namespace holdfast::codec
