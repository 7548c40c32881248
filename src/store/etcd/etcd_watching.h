#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "store/etcd/etcd_context.h"

namespace holdfast::store::etcd {

class WatchResponse;

/// Handles what etcd sends unasked, and sets up each new connection: creates its key (see etcd_engine.h), watches all
/// records and documents, and checks every second that etcd is still there.
///
/// All records are read the first time, and whenever etcd no longer has all writes since the watch ended (it compacts).
/// A record whose age this front does not know ages from then on.
class EtcdWatching {
 public:
    struct Told {
        std::function<void()> on_ready;
        std::function<void(std::string_view notice)> on_notice;
    };
    EtcdWatching(boost::asio::io_context& loop, EtcdContext& context, Told told);
    ~EtcdWatching();

    /// There is a new connection.
    void begin();
    void stop();

    /// etcd is in another history: all records must be read again, and the watch starts anew.
    void leave_history();

    Duration round_trip() const { return round_trip_; }

 private:
    void claim();
    void claim_with(LeaseNumber lease);
    void on_claimed(std::string key, const GrpcAnswer& answer);
    void resume();
    void review();
    void next_page();
    void on_page(const GrpcAnswer& answer);
    void watch();
    void on_message(std::string_view message);
    void on_events(const WatchResponse& response);
    void probe_in_a_second();
    void probe();
    void on_probe(Instant asked, const GrpcAnswer& answer);
    void keep_key();

    EtcdContext& context_;
    Told told_;
    boost::asio::steady_timer timer_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::vector<std::string> stale_keys_;  ///< of earlier connections
    bool reviewed_ = false;                ///< all records have been read once
    std::string page_after_;
    std::int64_t watch_from_ = 0;   ///< 0: there is a gap
    std::int64_t watch_least_ = 0;  ///< etcd's revision when the watch began
    Duration round_trip_{};
    int probes_ = 0;
};

}  // namespace holdfast::store::etcd
