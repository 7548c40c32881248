#pragma once

#include <memory>

#include "store/etcd/etcd_context.h"

namespace holdfast::store::etcd {

class RequestOp;
class TxnRequest;
class TxnResponse;

/// Engine::swap(): one transaction, as long as this front knows the revision of what is expected.
class EtcdSwaps {
 public:
    EtcdSwaps(EtcdContext& context, Duration answer_within) : context_(context), answer_within_(answer_within) {}

    void swap(const cas::Swap& swap, Callback<Result<cas::Swapped>> reply);

 private:
    struct Attempt;
    using Attempting = std::shared_ptr<Attempt>;

    void step(const Attempting& attempt);
    void look(const Attempting& attempt);
    void on_look(const Attempting& attempt, const RangeResponse& found, std::int64_t revision);
    void plan_index(Attempt& attempt) const;
    void get_leases(const Attempting& attempt);
    void write_index_ahead(const Attempting& attempt);
    void send(const Attempting& attempt);
    TxnRequest transaction(Attempt& attempt) const;
    void on_answer(const Attempting& attempt, const GrpcAnswer& answer);
    void on_done(const Attempting& attempt, const TxnResponse& response);
    void on_refused(const Attempting& attempt, const TxnResponse& response);
    void on_found(const Attempting& attempt, EtcdContext::ValueAt shown, std::int64_t revision);
    std::string marker_key() const;
    void compare_marker(TxnRequest& request, Attempt& attempt) const;
    static Result<void> check_position(const Attempt& attempt, std::int64_t revision);
    Result<void> check_marker(const Attempt& attempt, const TxnResponse& response);
    void finish(const Attempting& attempt, Result<cas::Swapped> result);

    EtcdContext& context_;
    Duration answer_within_;
};

}  // namespace holdfast::store::etcd
