#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "store/cas/front_memory.h"

namespace holdfast::server {

/// The file in which a front keeps its memory of the engine from one start to the next (store/cas/front_memory.h). A
/// separate thread writes it, so that nothing waits for the disk; only the latest memory is written. The file is
/// replaced atomically, so a reader never sees half of it.
///
/// Several fronts of one store may share the file: what any of them has seen of the engine is worth remembering.
class StoreMemoryFile {
 public:
    /// Returns the path in this directory, which is created if needed. Each store has a file of its own, named after
    /// its address without user and password, since those may change. Error `state_unusable`.
    static Result<std::string> path_in(const std::string& directory, const std::string& store);

    /// `failed` is called once per run of consecutive failed writes, on the writer thread.
    StoreMemoryFile(std::string path, std::function<void(const std::string& why)> failed);
    /// Waits until the last memory is written.
    ~StoreMemoryFile();

    /// Empty if there is no file. Error `state_corrupt` if the file exists but cannot be used.
    Result<store::cas::FrontMemory> read() const;
    void write(const store::cas::FrontMemory& memory);

    const std::string& path() const { return path_; }

 private:
    void run();

    const std::string path_;
    const std::function<void(const std::string& why)> failed_;
    const std::string boot_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<std::string> next_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace holdfast::server
