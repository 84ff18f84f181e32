#ifndef VIDICON_DESCRIPTOR_MESSAGE_H
#define VIDICON_DESCRIPTOR_MESSAGE_H

#include <stddef.h>
#include <sys/socket.h>

/// Sends a message to a socket of the system, with a descriptor that its reader gets a copy of (SCM_RIGHTS, unix(7)). In C, since Swift
/// lacks the macros of control messages. Returns 0, or -1 with `errno`.
int vidicon_send_descriptor(
    int socket, const struct sockaddr *address, socklen_t address_length, const void *text, size_t length, int descriptor);

#endif
