#pragma once

#include <memory>

#include "store/etcd/etcd_front.h"

namespace holdfast::etcd {

class RequestOp;
class TxnResponse;

/// The read-only operations of Engine. All are linearizable: every earlier write is seen.
class EtcdLooks {
 public:
    explicit EtcdLooks(Front& front) : front_(front) {}

    void fetch(core::Kind kind, std::string_view name, Callback<Result<core::Reading>> reply);
    void overlapping(std::string_view resource, std::size_t most, Callback<Result<core::Sight>> reply);
    void of_holder(std::string_view holder, std::size_t most, Callback<Result<core::Sight>> reply);
    void scan(core::Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
              Callback<Result<core::Page>> reply);

 private:
    struct Gathering;
    using Gathered = std::shared_ptr<Gathering>;
    struct Holding;

    /// Reads all these ranges, in as few transactions as etcd allows.
    void gather(const std::vector<KeyRange>& ranges, std::size_t most, Callback<Result<core::Sight>> reply);
    void on_part(const Gathered& gathered, const GrpcAnswer& answer);
    Result<void> add(core::Sight& sight, const KeyValue& pair, std::int64_t at);
    void next_of_holder(std::shared_ptr<Holding> holding);
    void on_names(const std::shared_ptr<Holding>& holding, const GrpcAnswer& answer);
    void on_records(const std::shared_ptr<Holding>& holding, core::Sight sight);

    Front& front_;
};

}  // namespace holdfast::etcd
