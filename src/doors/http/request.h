#pragma once

#include <cstdint>
#include <string>

namespace holdfast::doors::http {

/// A complete request as the routes see it. The target is split into path and query, and is otherwise as sent: still
/// percent-encoded.
struct Request {
    std::string method;
    std::string path;
    std::string query;  ///< without the question mark
    std::string host;
    std::string origin;
    std::string fetch_site;  ///< Sec-Fetch-Site: relation of the calling page to this server
    std::string content_type;
    std::string last_event_id;
    std::string progress_ms;  ///< interval at which a waiting request sends progress responses
    std::string signature;    ///< Holdfast-Signature
    std::string body;
    bool http_1_0 = false;
    bool keep_alive = true;
    bool has_origin = false;  ///< an empty Origin is still one
    bool has_fetch_site = false;
    bool has_last_event_id = false;
    std::string peer;  ///< the address it came from
    std::uint64_t connection = 0;
};

}  // namespace holdfast::doors::http
