// The client's side of RTSP, as much as starting a play takes (RFC 2326), blocking, for a server on this machine.
#ifndef RTSP_H
#define RTSP_H

#include <stdbool.h>

/// A TCP connection to a port of 127.0.0.1; ends the program when there is none.
int tcp_connect(int port);

/// Sets up both tracks of a stream on a connection: over it, or to UDP ports when `rtp_ports` is not NULL.
///
/// The track with index i is interleaved on channels 2 i and 2 i + 1, or goes to rtp_ports[i] and the port after it.
/// Returns the number of tracks, at most 2.
int rtsp_set_up(int connection, int port, const char *name, const int *rtp_ports, char session[64]);

/// Sends PLAY; the reply is for the caller to read, as data may follow it at once.
void rtsp_play(int connection, int port, const char *name, const char *session);

/// Prints a message and ends the program.
_Noreturn void fail(const char *format, ...);

/// The monotonic clock, in nanoseconds.
long long now(void);

/// Allows as many open files as the system does.
void raise_open_files(void);

#endif
