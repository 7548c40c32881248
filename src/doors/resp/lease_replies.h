#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "authority/answers.h"
#include "authority/single_record.h"
#include "base/result.h"
#include "codec/resp/resp_writer.h"
#include "doors/resp/exchange.h"

namespace holdfast {

/// Answers of the authority as docs/resp.md writes them: maps, and errors with the stable code in capitals.

/// The message, and when to ask again if that is known.
std::string with_retry(std::string_view message, std::optional<Duration> retry_in);
void put_error(resp::ReplyWriter& reply, core::Code code, std::string_view detail = {},
               std::optional<Duration> retry_in = {});
void put_refused(resp::ReplyWriter& reply, const core::Refused& refused);
/// `INVALID_ARGUMENT`, with what is wrong; it finishes the exchange.
void fail(Exchange& exchange, const Error& error);
void put_busy(resp::ReplyWriter& reply, const core::AcquireBusy& busy);

/// What a holder must know of a lease it was granted, or has renewed: its token and its timeline (T4).
struct ToldLease {
    std::string_view resource;
    const core::Lease& lease;
    std::optional<Duration> cut_from;
    Duration waited{};              ///< AcquireGranted::waited
    std::string_view session = {};  ///< if whoever reads this needs it
};
void put_told(resp::ReplyWriter& reply, const ToldLease& told, Instant now);

/// `granted`, or why not.
void put_acquired(resp::ReplyWriter& reply, const core::AcquireAnswer& answer, Instant now);
void put_acquired(resp::ReplyWriter& reply, std::string_view resource, const core::SingleRecordAnswer& answer);

void put_renewed(resp::ReplyWriter& reply, std::string_view resource, const core::SingleRecordAnswer& answer);
void put_released(resp::ReplyWriter& reply, const core::SingleRecordAnswer& answer);

/// A lease as anybody may see it.
void put_lease(resp::ReplyWriter& reply, std::string_view resource, const core::Lease& lease, Instant now);
void put_verified(resp::ReplyWriter& reply, const core::VerifyAnswer& answer);

}  // namespace holdfast
