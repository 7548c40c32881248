#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/wakeup.h"

namespace holdfast::keys::drone {

/// The output of one backend: `ID.log`, and the older part in `ID.log.1`, each of limited size. Output that cannot be
/// written is dropped: a full disk must not block a backend.
class BackendLog {
 public:
    BackendLog(std::string path, std::size_t max_bytes);

    void append(std::string_view text);

 private:
    void open();
    void rotate();

    std::string path_;
    std::size_t max_bytes_;
    std::size_t size_ = 0;
    Fd file_;
};

/// Deletes the oldest logs until those of `keep` backends are left. Backends in `in_use` are not counted and keep their
/// logs.
void prune_logs(const std::string& directory, std::size_t keep, const std::set<std::string>& in_use);

/// Copies the output of backends from their pipes to their logs on its own thread. A slow disk thus delays no renewal,
/// and a backend that writes faster than the disk blocks only itself.
class LogPump {
 public:
    struct Settings {
        std::string directory;
        std::size_t max_bytes = 4 << 20;  ///< per log file; each backend has up to two
        std::size_t max_backends = 200;   ///< how many ended backends keep their logs
    };

    explicit LogPump(Settings settings);
    /// Writes the output that is already in the pipes.
    ~LogPump();
    LogPump(const LogPump&) = delete;
    LogPump& operator=(const LogPump&) = delete;

    /// Callable from any thread.
    void add(const std::string& backend, Fd reading);

 private:
    struct Stream {
        std::string backend;
        Fd reading;
        BackendLog log;
    };

    void run();
    void take_new();
    /// Returns false at the end of the pipe.
    bool pump(Stream& stream) const;
    void prune() const;

    const Settings settings_;
    Wakeup wakeup_;
    std::mutex mutex_;
    std::vector<std::pair<std::string, Fd>> added_;
    std::vector<Stream> streams_;  ///< used by the thread only
    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace holdfast::keys::drone
