#include <holdfast/outcome.h>

namespace holdfast {

const char* to_string(Outcome outcome) {
    switch (outcome) {
        case Outcome::granted:
            return "granted";
        case Outcome::busy:
            return "busy";
        case Outcome::lost:
            return "lost";
        case Outcome::uncertain:
            return "uncertain";
        case Outcome::refused:
            return "refused";
        case Outcome::unreachable:
            return "unreachable";
        case Outcome::die:
            return "die";
        case Outcome::cancelled:
            return "cancelled";
    }
    return "unknown";
}

}  // namespace holdfast
