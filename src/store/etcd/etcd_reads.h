#pragma once

#include <memory>

#include "store/etcd/etcd_context.h"

namespace holdfast::store::etcd {

class RequestOp;
class TxnResponse;

/// The read-only operations of Engine. All are linearizable: every earlier write is seen.
class EtcdReads {
 public:
    explicit EtcdReads(EtcdContext& context) : context_(context) {}

    void fetch(cas::Kind kind, std::string_view name, Callback<Result<cas::Reading>> reply);
    void overlapping(std::string_view resource, std::size_t most, Callback<Result<cas::FoundRecords>> reply);
    void of_holder(std::string_view holder, std::size_t most, Callback<Result<cas::FoundRecords>> reply);
    void scan(cas::Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
              Callback<Result<cas::Page>> reply);

 private:
    struct Gathering;
    using Gathered = std::shared_ptr<Gathering>;
    struct Holding;

    /// Reads all these ranges, in as few transactions as etcd allows.
    void gather(const std::vector<KeyRange>& ranges, std::size_t most, Callback<Result<cas::FoundRecords>> reply);
    void on_part(const Gathered& gathered, const GrpcAnswer& answer);
    Result<void> add(cas::FoundRecords& read, const KeyValue& pair, std::int64_t at);
    void next_of_holder(std::shared_ptr<Holding> holding);
    void on_names(const std::shared_ptr<Holding>& holding, const GrpcAnswer& answer);
    void on_records(const std::shared_ptr<Holding>& holding, cas::FoundRecords read);

    EtcdContext& context_;
};

}  // namespace holdfast::store::etcd
