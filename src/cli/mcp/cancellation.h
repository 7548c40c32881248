#pragma once

#include <mutex>

#include "client/http_connection.h"

namespace holdfast::cli::mcp {

/// Lets one thread cancel the calls that another makes to the server.
class Cancellation {
 public:
    /// Registers a connection to be cancelled, while this object lives.
    class Covers {
     public:
        Covers(Cancellation& cancellation, client::HttpConnection& connection) : cancellation_(cancellation) {
            const std::lock_guard lock(cancellation_.mutex_);
            cancellation_.connection_ = &connection;
            if (cancellation_.cancelled_) connection.stop();
        }
        ~Covers() {
            const std::lock_guard lock(cancellation_.mutex_);
            cancellation_.connection_ = nullptr;
        }
        Covers(const Covers&) = delete;
        Covers& operator=(const Covers&) = delete;

     private:
        Cancellation& cancellation_;
    };

    void cancel() {
        const std::lock_guard lock(mutex_);
        cancelled_ = true;
        if (connection_ != nullptr) connection_->stop();
    }
    bool cancelled() const {
        const std::lock_guard lock(mutex_);
        return cancelled_;
    }

 private:
    mutable std::mutex mutex_;
    bool cancelled_ = false;
    client::HttpConnection* connection_ = nullptr;
};

}  // namespace holdfast::cli::mcp
