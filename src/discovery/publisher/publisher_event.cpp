#include "discovery/publisher/publisher_event.h"

namespace holdfast::discovery {

const char* to_string(PublisherEventKind happening) {
    switch (happening) {
        case PublisherEventKind::connected:
            return "connected";
        case PublisherEventKind::disconnected:
            return "disconnected";
        case PublisherEventKind::registered:
            return "registered";
        case PublisherEventKind::recovered:
            return "recovered";
        case PublisherEventKind::lost:
            return "lost";
        case PublisherEventKind::superseded:
            return "superseded";
        case PublisherEventKind::standing_by:
            return "standing_by";
        case PublisherEventKind::taken_again:
            return "taken_again";
        case PublisherEventKind::refused:
            return "refused";
        case PublisherEventKind::gave_up:
            return "gave_up";
        case PublisherEventKind::unregistered:
            return "unregistered";
        case PublisherEventKind::unserved:
            return "unserved";
    }
    return "unknown";
}

}  // namespace holdfast::discovery
