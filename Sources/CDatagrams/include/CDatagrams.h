#ifndef VIDICON_CDATAGRAMS_H
#define VIDICON_CDATAGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/// An IP address and a port in the byte order of the machine. An IPv4 address is in the lower 32 bits.
typedef struct {
  uint64_t upper;
  uint64_t lower;
  uint16_t port;
  bool is_ipv6;
  /// Index of the interface that a link-local address of IPv6 belongs to, RFC 4007 6; else 0.
  uint32_t scope;
} vidicon_endpoint;

/// Destination address of datagrams, and the address that they come from.
typedef struct {
  struct sockaddr_storage address;
  socklen_t length;
  /// Address of this machine from which datagrams are sent (IP_PKTINFO; IPV6_PKTINFO, RFC 3542 6.2): the one that the other side
  /// has asked, since it accepts answers from no other. The port is not used. 0.0.0.0 or :: for the address of the socket, or the
  /// choice of the system.
  vidicon_endpoint source;
} vidicon_destination;

/// The endpoint of an address, IPv4 where it is that in the form of IPv6. Returns false for an address that is not of IP.
bool vidicon_endpoint_of(const struct sockaddr *address, vidicon_endpoint *endpoint);

/// The destination of an endpoint, without a source. mapped: whether the socket is of IPv6, which sends to IPv4 by mapped
/// addresses.
vidicon_destination vidicon_destination_of(const vidicon_endpoint *endpoint, bool mapped);

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
  /// Bytes of the messages that were sent.
  size_t byte_count;
  /// Whether the system had no room for another reason than a full send buffer, whose end the socket does not report.
  bool lacks_memory;
} vidicon_datagram_result;

/// Opens two non-blocking UDP sockets on consecutive ports, the first even (RFC 3550 §11).
///
/// address: numeric IPv4 or IPv6; "::" also accepts IPv4.
/// sockets, ports: arrays of two elements, filled in.
/// Returns 0, or an errno value.
int vidicon_datagrams_open_pair(const char *address, int *sockets, uint16_t *ports);

/// Opens one non-blocking UDP socket.
///
/// address: numeric IPv4 or IPv6; "::" also accepts IPv4.
/// port: 0 for any free one; set to the port in use.
/// Returns 0, or an errno value.
int vidicon_datagrams_open(const char *address, int *socket, uint16_t *port);

/// Prepares a bound UDP socket of another process as one that was opened here; closes it on failure.
///
/// port: set to its port.
/// is_ipv6: set to whether its addresses are of IPv6.
/// Returns 0, or an errno value.
int vidicon_datagrams_adopt(int socket, uint16_t *port, bool *is_ipv6);

/// Length of the send buffer that the system has granted, in bytes of its own accounting; negative on failure.
int vidicon_datagrams_send_buffer(int socket);

/// Opens a socket that sends from one local address and from the port of a socket of vidicon_datagrams_open_pair, whose send
/// buffer is not shared by datagrams from other addresses.
///
/// mapped: whether that socket is of IPv6, so that an address of IPv4 is mapped, RFC 4291 2.5.5.2.
/// Returns 0, or an errno value.
int vidicon_datagrams_open_route(const vidicon_endpoint *address, bool mapped, int *socket);

/// Sends every run to every destination in as few system calls as possible (sendmmsg, with segmentation offload if the
/// kernel supports it), from a position on. Never blocks: returns when the send buffer is full.
///
/// position: where to begin; set to where to continue when the socket is writable again.
/// A destination whose length is 0 is skipped.
/// offload: whether to use segmentation offload; set to false when the kernel does not support it. Where a route does not, its
/// datagrams are sent one by one for a minute.
vidicon_datagram_result vidicon_datagrams_send(
    int socket, const uint8_t *bytes, const vidicon_datagram_run *runs, size_t run_count,
    const vidicon_destination *destinations, size_t destination_count, vidicon_datagram_position *position,
    bool *offload);

/// Consecutive datagrams of equal length for one destination; the last may be shorter.
typedef struct {
  vidicon_datagram_run run;
  vidicon_destination destination;
} vidicon_datagram_message;

/// Sends messages, each to its destination, in as few system calls as possible. Never blocks: returns when the send buffer
/// is full.
///
/// position: where to begin, the index of the message being that of the destination; set to where to continue when the socket
/// is writable again.
/// offload: whether to use segmentation offload; set to false when the kernel does not support it. Where a route does not, its
/// datagrams are sent one by one for a minute.
vidicon_datagram_result vidicon_datagrams_send_messages(
    int socket, const uint8_t *bytes, const vidicon_datagram_message *messages, size_t message_count,
    vidicon_datagram_position *position, bool *offload);

#endif
