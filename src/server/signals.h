#pragma once

#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace holdfast {

/// The signals that end a server: SIGTERM, SIGINT, and SIGHUP unless the program was started to ignore it (nohup).
///
/// The first one is handled on the loop. From then on they do what they do by default, so that a second one ends the
/// process at once, even while it waits for a disk.
class Signals {
 public:
    Signals(boost::asio::io_context& loop, std::function<void()> on_first);
    ~Signals();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
