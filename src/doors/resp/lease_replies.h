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

/// Replies of the authority in the format of docs/resp.md: maps, and errors with the stable code in capitals.

/// The message, and when to retry if that is known.
std::string with_retry(std::string_view message, std::optional<Duration> retry_in);
void put_error(resp::ReplyWriter& reply, core::Code code, std::string_view detail = {},
               std::optional<Duration> retry_in = {});
void put_refused(resp::ReplyWriter& reply, const core::Refused& refused);
/// Replies `INVALID_ARGUMENT` with the message of the error, and finishes the exchange.
void fail(Exchange& exchange, const Error& error);
void put_busy(resp::ReplyWriter& reply, const core::AcquireBusy& busy);

/// What a holder must know about a lease it was granted or has renewed: its token and its timeline (T4).
struct ToldLease {
    std::string_view resource;
    const core::Lease& lease;
    std::optional<Duration> cut_from;
    Duration waited{};              ///< AcquireGranted::waited
    std::string_view session = {};  ///< set if the client needs it
};
void put_told(resp::ReplyWriter& reply, const ToldLease& told, Instant now);

/// Writes `granted`, or the reason of the refusal.
void put_acquired(resp::ReplyWriter& reply, const core::AcquireAnswer& answer, Instant now);
void put_acquired(resp::ReplyWriter& reply, std::string_view resource, const core::SingleRecordAnswer& answer);

void put_renewed(resp::ReplyWriter& reply, std::string_view resource, const core::SingleRecordAnswer& answer);
void put_released(resp::ReplyWriter& reply, const core::SingleRecordAnswer& answer);

/// Writes a lease's public fields.
void put_lease(resp::ReplyWriter& reply, std::string_view resource, const core::Lease& lease, Instant now);
void put_verified(resp::ReplyWriter& reply, const core::VerifyAnswer& answer);

}  // namespace holdfast
