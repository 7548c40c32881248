#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "keys/drone/backend_log.h"
#include "supervise/fd.h"

namespace holdfast::drone {

/// Carries what backends write from their pipes to their logs, in a thread of its own: a slow disk delays no renewal,
/// and a backend that writes more than the disk takes waits for nobody but itself.
class LogPump {
 public:
    struct Settings {
        std::string directory;
        std::size_t max_bytes = 4 << 20;  ///< of a log; with the one before it, twice as much
        std::size_t max_backends = 200;   ///< whose logs are kept
    };

    explicit LogPump(Settings settings);
    /// Writes down what is in the pipes already.
    ~LogPump();
    LogPump(const LogPump&) = delete;
    LogPump& operator=(const LogPump&) = delete;

    /// From any thread.
    void add(const std::string& backend, Fd reading);

 private:
    struct Stream {
        std::string backend;
        Fd reading;
        BackendLog log;
    };

    void run();
    void take_new();
    /// False at the end of the pipe.
    bool pump(Stream& stream) const;
    void prune() const;

    const Settings settings_;
    Fd bell_;
    std::mutex mutex_;
    std::vector<std::pair<std::string, Fd>> added_;
    std::vector<Stream> streams_;  ///< of the thread
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace holdfast::drone
