#include <memory>

#include "base/glob.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/decode_parts.h"
#include "doors/http/decode_services.h"
#include "doors/http/handlers.h"
#include "doors/http/service_answers.h"

namespace holdfast::http {
namespace {

constexpr std::size_t services_per_piece = 100;

std::string_view name_of(core::Directory::Change change) {
    switch (change) {
        case core::Directory::Change::registered:
            return "registered";
        case core::Directory::Change::updated:
            return "updated";
        case core::Directory::Change::gone:
            break;
    }
    return "gone";
}

/// What is there, piece by piece, and that this was all; then nothing.
std::function<std::string()> pieces_of(core::Directory& directory, std::string glob) {
    auto query = std::make_shared<core::ServiceQuery>();
    query->name_glob = std::move(glob);
    query->limit = services_per_piece;
    return [&directory, query, done = false]() mutable {
        std::string piece;
        if (done) return piece;
        directory.list(*query, [&](const core::Answer<core::ServicePage>& answer) {
            const auto* page = std::get_if<core::ServicePage>(&answer);
            if (page == nullptr) return;
            for (const core::ServiceEntry& entry : page->services)
                piece += service_event("service", entry);
            query->after = page->next;
            done = page->next.empty();
        });
        if (done)
            piece += listed_event();
        else if (piece.empty())
            piece = ":\n\n";  // none of those looked at matches; nothing at all would be the end
        return piece;
    };
}

void stream_services(Services& services, const std::string& glob, const Reply& reply) {
    reply.stream(Feed([&services, glob](const Tell& tell) -> Feeding {
        const auto watch = services.directory.watch([tell, glob](auto change, const core::ServiceEntry& entry) {
            if (glob.empty() || redis::glob_matches(glob, entry.name))
                tell(service_event(name_of(change), entry), false);
        });
        if (watch == 0) tell("event: failed\ndata: {\"code\":\"too_many_connections\"}\n\n", true);
        return {[&services, watch] { services.directory.unwatch(watch); }, pieces_of(services.directory, glob)};
    }));
}

}  // namespace

void handle_update_service(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_service_update(request);
    if (!decoded) return reply(failure(decoded.error()));
    core::Caller caller = caller_of(request);
    caller.connection = 0;  // of HTTP, which is no relay's (R8)
    services.directory.update(decoded->update, {request.body, decoded->public_key, decoded->signature}, caller,
                              [reply, action = decoded->update.action](const discovery::UpdateResponse& told) {
                                  reply(answer_update(told, action));
                              });
}

void handle_list_services(Services& services, const Request& request, const std::string&, Reply reply) {
    auto query = decode_service_query(request);
    if (!query) return reply(failure(query.error()));
    services.directory.list(std::move(*query), [reply](const core::Answer<core::ServicePage>& answer) {
        if (const auto* refused = std::get_if<core::Refused>(&answer)) return reply(failure(*refused));
        reply(answer_services(std::get<core::ServicePage>(answer)));
    });
}

void handle_get_service(Services& services, const Request& request, const std::string& name, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    services.directory.find(name, [reply](const core::Answer<core::ServiceEntry>& answer) {
        if (const auto* refused = std::get_if<core::Refused>(&answer)) return reply(failure(*refused));
        reply(answer_service(std::get<core::ServiceEntry>(answer)));
    });
}

/// Begins once all is known that was there before this life: from then on the directory lists at once.
void handle_service_events(Services& services, const Request& request, const std::string&, Reply reply) {
    auto glob = decode_service_glob(request);
    if (!glob) return reply(failure(glob.error()));
    core::ServiceQuery one;
    one.limit = 1;
    services.directory.list(one, [&services, reply, glob = std::move(*glob)](const core::Answer<core::ServicePage>&) {
        if (reply.open()) stream_services(services, glob, reply);
    });
}

void handle_relay(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const core::Directory& directory = services.directory;
    reply(answer_relay({directory.relay(), directory.relay_time_ms(), directory.relay_address()}));
}

}  // namespace holdfast::http
