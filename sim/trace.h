#pragma once

#include <deque>
#include <sstream>
#include <string>

#include "sim/true_time.h"

namespace holdfast::sim {

/// The last events of a world, as text. When off it costs nothing; a world that failed is run again with it on.
class Trace {
 public:
    static constexpr std::size_t kept = 200;

    explicit Trace(bool on) : on_(on) {}

    bool on() const { return on_; }

    /// Notes an event of `who`; `what` is anything that can be written to a stream.
    template <class... Parts>
    void note(TrueInstant at, const std::string& who, const Parts&... what) {
        if (!on_) return;
        std::ostringstream text;
        (text << ... << what);
        add(at, who, text.str());
    }

    std::string text() const {
        std::string all;
        for (const std::string& line : lines_)
            all += line + '\n';
        return all;
    }

 private:
    void add(TrueInstant at, const std::string& who, const std::string& what);

    bool on_;
    std::deque<std::string> lines_;
};

/// `12.345678 s`.
std::string seconds_text(Duration duration);

}  // namespace holdfast::sim
