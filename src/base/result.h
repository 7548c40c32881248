#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/assert.h"
#include "base/code.h"
#include "base/time.h"

namespace holdfast::inline base {

/// A failure of the environment or of the input: a code for programs, a sentence for people.
struct Error {
    ErrorCode code;
    std::string message;
    std::optional<Duration> retry_in{};  ///< how long the failure is known to last, if known
};

/// A value or an error. Normal answers (granted, busy) are values; only failures are errors.
template <class T>
class [[nodiscard]] Result {
 public:
    Result(T value) : content_(std::move(value)) {}
    Result(Error error) : content_(std::move(error)) {}

    explicit operator bool() const { return content_.index() == 0; }

    /// REQUIRES: *this holds a value.
    T& value() {
        HOLDFAST_ASSERT(content_.index() == 0);
        return *std::get_if<0>(&content_);
    }
    const T& value() const { return const_cast<Result*>(this)->value(); }
    T& operator*() { return value(); }
    const T& operator*() const { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    /// REQUIRES: *this holds no value.
    const Error& error() const {
        HOLDFAST_ASSERT(content_.index() == 1);
        return *std::get_if<1>(&content_);
    }

 private:
    std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
    Result() = default;
    Result(Error error) : error_(std::move(error)), ok_(false) {}

    explicit operator bool() const { return ok_; }

    /// REQUIRES: this is a failure.
    const Error& error() const {
        HOLDFAST_ASSERT(!ok_);
        return error_;
    }

 private:
    Error error_;
    bool ok_ = true;
};

}  // namespace holdfast::inline base
