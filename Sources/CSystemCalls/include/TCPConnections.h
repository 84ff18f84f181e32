#ifndef VIDICON_TCP_CONNECTIONS_H
#define VIDICON_TCP_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

/// Throughput of a TCP connection, as the kernel measures it from acknowledgements.
typedef struct {
  /// Payload that the receiver acknowledged, in bits per second.
  uint64_t bits_per_second;
  /// Whether the network was not filled, so that it may carry more.
  bool is_limited_by_sender;
} vidicon_throughput;

/// Minimum round-trip time of a connection in the last minutes, in microseconds; 0 where it is unknown.
uint32_t vidicon_tcp_minimum_round_trip_time(int socket);

/// Reads the throughput of a connection; false where it is unknown: before data was sent, and on systems that do not measure it.
bool vidicon_tcp_throughput(int socket, vidicon_throughput *throughput);

/// Opens a queue of sockets that wait to be writable: epoll, or kqueue. Returns its descriptor; -1 on failure.
int vidicon_writability_open(void);

/// Asks for the next time that a socket is writable, once; from any thread. Returns false on failure.
bool vidicon_writability_request(int queue, int socket);

/// Waits until sockets that were asked for are writable, or have an error.
///
/// sockets: filled in, at most 64.
/// Returns their number; -1 on failure.
int vidicon_writability_wait(int queue, int *sockets, int capacity);

#endif
