// The RTSP client calls that start a play (RFC 2326), blocking.
#ifndef RTSP_H
#define RTSP_H

#include <stdbool.h>
#include <sys/types.h>

/// Connects to a TCP port of 127.0.0.1, or of the address in the environment variable RTSP_HOST; exits on failure.
int tcp_connect(int port);

/// Encrypts a connection: TLS without verification of the server's certificate. All that follows passes through TLS; exits on
/// failure.
void tcp_secure(int connection);

/// Receives what has arrived, as recv with MSG_DONTWAIT does, on a plain or an encrypted connection.
ssize_t tcp_receive(int connection, void *buffer, size_t size);

/// Sets up both tracks of a stream: interleaved on the connection, or to UDP ports when `rtp_ports` is not NULL.
///
/// The track with index i uses channels 2 i and 2 i + 1, or rtp_ports[i] and the port after it.
/// Returns the number of tracks, at most 2.
int rtsp_set_up(int connection, int port, const char *name, const int *rtp_ports, char session[64]);

/// Sends PLAY. The caller reads the reply, since media may follow it immediately.
void rtsp_play(int connection, int port, const char *name, const char *session);

/// Prints a message and exits.
_Noreturn void fail(const char *format, ...);

/// The monotonic clock, in nanoseconds.
long long now(void);

/// Raises the limit of open files to the system's maximum.
void raise_open_files(void);

#endif
