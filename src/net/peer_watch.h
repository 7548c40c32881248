#pragma once

namespace holdfast {

/// How soon the kernel notices that the host at the other end of a TCP connection is gone without a word. A client that
/// waits for its turn is watched closely: it is probed every second, and given up after five of silence.
enum class Watch : bool { usual, close };
void watch_peer(int socket, Watch watch);

/// False if the peer has closed the connection or its sending half, if the connection is broken, or if the peer's host
/// has not answered two probes. A process that is stopped is there: its kernel answers for it.
bool peer_is_there(int socket);

}  // namespace holdfast
