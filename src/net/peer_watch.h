#pragma once

namespace holdfast::net {

/// How soon the kernel notices that the remote host of a TCP connection is gone without closing it. A waiting client is
/// watched closely: it is probed every second and given up after five seconds of silence.
enum class Watch : bool { usual, close };
void watch_peer(int socket, Watch watch);

/// False if the peer has closed the connection or its sending half, if the connection is broken, if the peer's host has
/// not answered two probes, or if it has acknowledged nothing for two seconds while data is in flight. A stopped
/// process counts as present: its kernel still answers.
bool peer_is_there(int socket);

}  // namespace holdfast::net
