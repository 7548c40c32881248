#include "base/assert.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "election/candidate.h"
#include "lease/resource.h"

namespace holdfast::http {
namespace {

Result<std::string> decode_group(const std::string& group) {
    const std::string resource = core::leader_resource(group);
    if (auto checked = core::check_resource(resource); !checked) return checked.error();
    return core::normalised(resource);
}

}  // namespace

/// To verify a lease that never was is to be told who holds its resource: tokens begin above zero.
void handle_get_leader(Services& services, const Request& request, const std::string& group, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    auto resource = decode_group(group);
    if (!resource) return reply(failure(resource.error()));
    std::vector<core::LeaseName> names{{std::move(*resource), 0}};
    services.authority.verify(std::move(names),
                              [reply, group](const core::Answer<std::vector<core::VerifyAnswer>>& answer) {
                                  if (const auto* refused = std::get_if<core::Refused>(&answer))
                                      return reply(failure(*refused));
                                  const auto& answers = std::get<std::vector<core::VerifyAnswer>>(answer);
                                  HOLDFAST_ASSERT(answers.size() == 1);
                                  reply(answer_leader(group, answers.front()));
                              });
}

void handle_quorum(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    if (!services.quorum_status) return reply(failure(core::Code::not_clustered));
    Response response;
    response.body = services.quorum_status();
    reply(std::move(response));
}

}  // namespace holdfast::http
