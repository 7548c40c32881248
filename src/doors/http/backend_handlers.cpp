#include "doors/http/answers.h"
#include "doors/http/decode_keys.h"
#include "doors/http/handlers.h"
#include "doors/http/key_answers.h"

namespace holdfast::http {
namespace {

void reply_unknown(Services& services, const std::string& id, Reply reply) {
    services.controller.why_unknown(id, [reply = std::move(reply)](const core::Refused& why) { reply(failure(why)); });
}

}  // namespace

void handle_list_backends(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_backends(request);
    if (!decoded) return reply(failure(decoded.error()));
    services.controller.unreported(
        decoded->filter, [&services, query = *decoded, reply](core::UnreportedBackends unreported) {
            const auto page = services.controller.backends(query.filter, query.page.after, query.page.limit);
            if (!query.page.after.empty()) unreported.keys.clear();  // they were on the first page
            reply(answer_backends(page, unreported, services.authority.now()));
        });
}

void handle_get_backend(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const auto backend = services.controller.backend(id);
    if (!backend) return reply_unknown(services, id, std::move(reply));
    reply(answer_backend(*backend, services.authority.now()));
}

/// First how it is, then each change; ends when the backend has.
void handle_backend_status(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    if (!services.controller.backend(id)) return reply_unknown(services, id, std::move(reply));
    reply.stream(Feed([&services, id](const Tell& tell) -> Feeding {
        const auto told = [&services, tell](const core::BackendView& view) {
            tell(status_event(view, services.authority.now()), view.backend.ended());
        };
        const auto backend = services.controller.backend(id);
        const auto watch = services.controller.watch(id, told);
        told(*backend);
        return {[&services, id, watch] { services.controller.unwatch(id, watch); }};
    }));
}

void handle_terminate_backend(Services& services, const Request& request, const std::string& id, Reply reply) {
    const auto how = decode_terminate(request);
    if (!how) return reply(failure(how.error()));
    const auto answer = services.controller.terminate(id, *how);
    const auto* refused = std::get_if<core::Refused>(&answer);
    if (refused != nullptr && refused->code == core::Code::unknown_backend)
        return reply_unknown(services, id, std::move(reply));
    if (refused != nullptr) return reply(failure(*refused));
    reply(answer_backend(std::get<core::BackendView>(answer), services.authority.now()));
}

}  // namespace holdfast::http
