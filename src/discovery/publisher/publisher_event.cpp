#include "discovery/publisher/publisher_event.h"

namespace holdfast::discovery {

const char* to_string(Happening happening) {
    switch (happening) {
        case Happening::connected:
            return "connected";
        case Happening::disconnected:
            return "disconnected";
        case Happening::registered:
            return "registered";
        case Happening::recovered:
            return "recovered";
        case Happening::lost:
            return "lost";
        case Happening::superseded:
            return "superseded";
        case Happening::standing_by:
            return "standing_by";
        case Happening::taken_again:
            return "taken_again";
        case Happening::refused:
            return "refused";
        case Happening::gave_up:
            return "gave_up";
        case Happening::unregistered:
            return "unregistered";
        case Happening::unserved:
            return "unserved";
    }
    return "unknown";
}

}  // namespace holdfast::discovery
