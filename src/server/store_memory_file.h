#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "store/cas/front_memory.h"

namespace holdfast {

/// The file in which a front remembers its engine from one start to the next (store/cas/front_memory.h). A thread of
/// its own writes it, so that nothing waits for the disk; only the latest memory is written. Replaced as a whole, so
/// that it is never half of one.
///
/// Several fronts of one store may share the file: what any of them has seen of the engine is worth remembering.
class StoreMemoryFile {
 public:
    /// In this directory, which is created if need be; each store has a file of its own, by its address without user
    /// and password, which may change. Error `state_unusable`.
    static Result<std::string> path_in(const std::string& directory, const std::string& store);

    /// `failed` is called once for each row of writes that fail, from the thread.
    StoreMemoryFile(std::string path, std::function<void(const std::string& why)> failed);
    /// After the last memory is written.
    ~StoreMemoryFile();

    /// Empty if there is no file. Error `state_corrupt` if there is one and it cannot be used.
    Result<core::FrontMemory> read() const;
    void write(const core::FrontMemory& memory);

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

}  // namespace holdfast
