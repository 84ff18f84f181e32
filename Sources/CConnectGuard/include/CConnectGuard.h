#ifndef VIDICON_CCONNECTGUARD_H
#define VIDICON_CCONNECTGUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/// Decides on the address of a connection; runs on the thread that connects.
typedef bool (*vidicon_connect_rule)(const struct sockaddr *address, socklen_t length);

/// Calls `refuses`, unless it is NULL, before each connection that this thread makes through connect(2), from any library, until
/// vidicon_connect_guard_end. A refused connection fails with EACCES before a packet is sent. The C library's own connections,
/// such as those to name servers, are not checked. Calls are not nested.
///
/// Connections over TCP end by themselves with ETIMEDOUT about 15 s after the peer cannot be reached any more, also while nothing
/// is sent: the system asks a silent peer for a sign of life (RFC 9293 §3.8.4).
void vidicon_connect_guard_begin(vidicon_connect_rule refuses);

/// Ends the checks, and returns the number of connections refused since vidicon_connect_guard_begin.
uint32_t vidicon_connect_guard_end(void);

/// Whether the connect(2) that libraries call is the guard's: not where symbols of libraries are bound to a library
/// (two-level namespaces of Apple's systems).
bool vidicon_connect_guard_is_effective(void);

#endif
