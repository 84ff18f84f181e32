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

/// The next datagram of a call that could not send everything: the first of the rest.
typedef struct {
  /// Index of the destination; the number of destinations when everything is sent.
  size_t destination;
  /// Index of the run.
  size_t run;
  /// Offset in the run, in bytes: a multiple of its segment length.
  size_t offset;
} vidicon_datagram_position;

/// Outcome of one call, in messages: runs times destinations, or single datagrams without segmentation offload.
typedef struct {
  size_t sent;
  /// Messages to destinations that cannot be reached.
  size_t unreachable;
} vidicon_datagram_result;

/// Opens two non-blocking UDP sockets on consecutive ports, the first even (RFC 3550 §11).
///
/// address: numeric IPv4 or IPv6; "::" also accepts IPv4.
/// sockets, ports: arrays of two elements, filled in.
/// Returns 0, or an errno value.
int vidicon_datagrams_open_pair(const char *address, int *sockets, uint16_t *ports);

/// Length of the send buffer that the system has granted, in bytes of its own accounting; negative on failure.
int vidicon_datagrams_send_buffer(int socket);

/// Sends every run to every destination in as few system calls as possible (sendmmsg, with segmentation offload if the
/// kernel supports it), from a position on. Never blocks: returns when the send buffer is full.
///
/// position: where to begin; set to where to continue when the socket is writable again.
/// A destination whose length is 0 is skipped.
/// offload: whether to use segmentation offload; set to false when the kernel does not support it.
vidicon_datagram_result vidicon_datagrams_send(
    int socket, const uint8_t *bytes, const vidicon_datagram_run *runs, size_t run_count,
    const vidicon_destination *destinations, size_t destination_count, vidicon_datagram_position *position,
    bool *offload);

#endif
