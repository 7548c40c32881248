#include "cli/exit_codes.h"

#include <array>
#include <utility>

namespace holdfast {

int exit_code_of(std::string_view error_code) {
    static constexpr std::array table{
        std::pair{std::string_view{"busy"}, exit_busy},
        std::pair{std::string_view{"wait_timeout"}, exit_busy},
        std::pair{std::string_view{"cancelled"}, exit_busy},
        std::pair{std::string_view{"key_tag_mismatch"}, exit_busy},
        std::pair{std::string_view{"key_race_lost"}, exit_busy},
        std::pair{std::string_view{"unknown_lease"}, exit_lost},
        std::pair{std::string_view{"lease_expired"}, exit_lost},
        std::pair{std::string_view{"lease_released"}, exit_lost},
        std::pair{std::string_view{"lease_revoked"}, exit_lost},
        std::pair{std::string_view{"stale_epoch"}, exit_lost},  // another life has taken over
        std::pair{std::string_view{"unreachable"}, exit_unreachable},
        std::pair{std::string_view{"die"}, exit_told_to_die},
    };
    for (const auto& [code, exit_code] : table)
        if (code == error_code) return exit_code;
    return exit_refused;
}

}  // namespace holdfast
