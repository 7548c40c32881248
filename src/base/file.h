#pragma once

#include <string>
#include <string_view>

namespace holdfast::inline base {

/// A file descriptor that is closed at the end of the scope. Files it creates are accessible to their owner only.
class File {
 public:
    /// `flags` as for open(2).
    File(const std::string& path, int flags);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    bool is_open() const { return fd_ >= 0; }
    int get() const { return fd_; }

 private:
    int fd_;
};

/// Returns false and sets errno if not all of the text could be written.
bool write_all(int fd, std::string_view text);

}  // namespace holdfast::inline base
