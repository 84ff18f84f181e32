#ifndef VIDICON_CDATAGRAMS_H
#define VIDICON_CDATAGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/// Destination address of datagrams.
typedef struct {
  struct sockaddr_storage address;
  socklen_t length;
} vidicon_destination;

/// Consecutive datagrams of equal length; the last may be shorter.
typedef struct {
  /// Offset of the first byte in the buffer.
  size_t offset;
  /// Length of all datagrams, in bytes.
  size_t length;
  /// Length of each datagram except the last, in bytes.
  uint16_t segment_length;
} vidicon_datagram_run;

/// Outcome of one call, in messages: runs times destinations.
typedef struct {
  size_t sent;
  size_t dropped;
} vidicon_datagram_result;

/// Opens two non-blocking UDP sockets on consecutive ports, the first even (RFC 3550 §11).
///
/// address: numeric IPv4 or IPv6; "::" also accepts IPv4.
/// sockets, ports: arrays of two elements, filled in.
/// Returns 0, or an errno value.
int vidicon_datagrams_open_pair(const char *address, int *sockets, uint16_t *ports);

/// Sends every run to every destination in as few system calls as possible (sendmmsg, with segmentation offload if the
/// kernel supports it). Never blocks: messages that exceed the send buffer are dropped.
///
/// offload: whether to use segmentation offload; set to false when the kernel does not support it.
vidicon_datagram_result vidicon_datagrams_send(
    int socket, const uint8_t *bytes, const vidicon_datagram_run *runs, size_t run_count,
    const vidicon_destination *destinations, size_t destination_count, bool *offload);

#endif
