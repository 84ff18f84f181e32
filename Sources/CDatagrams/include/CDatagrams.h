#ifndef VIDICON_CDATAGRAMS_H
#define VIDICON_CDATAGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/// Where datagrams go.
typedef struct {
  struct sockaddr_storage address;
  socklen_t length;
} vidicon_destination;

/// A stretch of datagrams of equal length, but for the last that may be shorter.
typedef struct {
  /// The first byte, counted from the start of the buffer.
  size_t offset;
  /// Bytes of all datagrams.
  size_t length;
  /// Bytes of each datagram but the last.
  uint16_t segment_length;
} vidicon_datagram_run;

/// What became of the datagrams of one call, in runs times destinations.
typedef struct {
  size_t sent;
  size_t dropped;
} vidicon_datagram_result;

/// Opens two UDP sockets on neighbouring ports, the first of them even (RFC 3550 §11), that do not block.
///
/// address: numeric IPv4 or IPv6; "::" also takes IPv4.
/// sockets, ports: two of each, filled in.
/// Returns 0, or an errno value.
int vidicon_datagrams_open_pair(const char *address, int *sockets, uint16_t *ports);

/// Sends every run to every destination, in as few system calls as there are (sendmmsg, with segmentation offload
/// where the kernel has it). It never waits: what the kernel has no room for is dropped.
///
/// offload: whether to try segmentation offload; set to false when the kernel turns out not to have it.
vidicon_datagram_result vidicon_datagrams_send(
    int socket, const uint8_t *bytes, const vidicon_datagram_run *runs, size_t run_count,
    const vidicon_destination *destinations, size_t destination_count, bool *offload);

#endif
