#ifndef VIDICON_COFFLOAD_H
#define VIDICON_COFFLOAD_H

#include <stdint.h>

/// Lets the route to an IPv4 address fail with EIO for messages of several datagrams, as drivers without checksum offload do; 0 for
/// none. For all threads of this process, whose sendmmsg is that of this library.
void vidicon_offload_fails_to(uint32_t address);

/// Number of messages of several datagrams that were sent to an IPv4 address since the last call.
unsigned vidicon_offloaded_messages(uint32_t address);

#endif
