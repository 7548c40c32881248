#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "authority/answers.h"
#include "authority/single_record.h"
#include "base/result.h"
#include "codec/resp/resp_writer.h"
#include "doors/resp/exchange.h"

namespace holdfast::doors::resp {

/// Replies of the authority in the format of docs/resp.md: maps, and errors with the stable code in capitals.

/// The message, and when to retry if that is known.
std::string with_retry(std::string_view message, std::optional<Duration> retry_in);
void put_error(codec::resp::ReplyWriter& reply, Code code, std::string_view detail = {},
               std::optional<Duration> retry_in = {});
void put_refused(codec::resp::ReplyWriter& reply, const authority::Refused& refused);
/// Replies `INVALID_ARGUMENT` with the message of the error, and finishes the exchange.
void fail(Exchange& exchange, const Error& error);
void put_busy(codec::resp::ReplyWriter& reply, const authority::AcquireBusy& busy);

/// What a holder must know about a lease it was granted or has renewed: its token and its timeline (T4).
struct ToldLease {
    std::string_view resource;
    const lease::Lease& lease;
    std::optional<Duration> cut_from;
    Duration waited{};              ///< AcquireGranted::waited
    std::string_view session = {};  ///< set if the client needs it
};
void put_told(codec::resp::ReplyWriter& reply, const ToldLease& told, Instant now);

/// Writes `granted`, or the reason of the refusal.
void put_acquired(codec::resp::ReplyWriter& reply, const authority::AcquireAnswer& answer, Instant now);
void put_acquired(codec::resp::ReplyWriter& reply, std::string_view resource,
                  const authority::SingleRecordAnswer& answer);

void put_renewed(codec::resp::ReplyWriter& reply, std::string_view resource,
                 const authority::SingleRecordAnswer& answer);
void put_released(codec::resp::ReplyWriter& reply, const authority::SingleRecordAnswer& answer);

/// Writes a lease's public fields.
void put_lease(codec::resp::ReplyWriter& reply, std::string_view resource, const lease::Lease& lease, Instant now);
void put_verified(codec::resp::ReplyWriter& reply, const authority::VerifyAnswer& answer);

}  // namespace holdfast::doors::resp
