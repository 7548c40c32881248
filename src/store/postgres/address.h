#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::postgres {

using Parameters = std::vector<std::pair<std::string, std::string>>;

/// The parameters of a connection with the addresses (`hostaddr`) of the hosts that they name, so that libpq, which
/// would wait for the answer, need not ask for them. Answers from the loop; error `store_unavailable`.
void find_addresses(boost::asio::io_context& loop, Parameters parameters,
                    std::function<void(Result<Parameters>)> reply);

}  // namespace holdfast::postgres
