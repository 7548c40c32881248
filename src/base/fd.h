#pragma once

#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace holdfast::inline base {

/// Owns a file descriptor, or none.
class Fd {
 public:
    Fd() = default;
    explicit Fd(int number) : number_(number) {}
    Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Fd() { close(); }

    int get() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

    int release() { return std::exchange(number_, -1); }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

 private:
    int number_ = -1;
};

/// As open(2), closed on exec. A file that it creates is accessible to its owner only. None, with errno set, on
/// failure.
Fd open_file(const std::string& path, int flags);

/// Returns false and sets errno if not all of the text could be written.
bool write_all(int fd, std::string_view text);

}  // namespace holdfast::inline base
