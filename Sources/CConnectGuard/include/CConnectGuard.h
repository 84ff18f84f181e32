#ifndef VIDICON_CCONNECTGUARD_H
#define VIDICON_CCONNECTGUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/// Decides on the address of a connection; runs on the thread that connects.
typedef bool (*vidicon_connect_rule)(const struct sockaddr *address, socklen_t length);

/// Begins to ask `refuses` before each connection that this thread makes through connect(2), in whatever library. A
/// refused connection fails with EACCES before a packet is sent. Connections of the C library itself, as to name servers,
/// are not asked for. Calls are not nested.
void vidicon_connect_guard_begin(vidicon_connect_rule refuses);

/// Ends asking.
///
/// Returns the number of refused connections since vidicon_connect_guard_begin.
uint32_t vidicon_connect_guard_end(void);

/// Whether the connect(2) that libraries call is the guard's: not where symbols of libraries are bound to a library
/// (two-level namespaces of Apple's systems).
bool vidicon_connect_guard_is_effective(void);

#endif
