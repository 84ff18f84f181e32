#include "TCPConnections.h"

#ifdef __linux__
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#endif

uint32_t vidicon_tcp_minimum_round_trip_time(int socket) {
#ifdef __linux__
  struct tcp_info info;
  socklen_t length = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
  // Older kernels write less.
  if (length < offsetof(struct tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt) return 0;
  // All bits are set before the first measurement.
  return info.tcpi_min_rtt == UINT32_MAX ? 0 : info.tcpi_min_rtt;
#else
  (void)socket;
  return 0;
#endif
}

bool vidicon_tcp_throughput(int socket, vidicon_throughput *throughput) {
#ifdef __linux__
  struct tcp_info info;
  socklen_t length = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
  // Older kernels write less.
  if (length < offsetof(struct tcp_info, tcpi_delivery_rate) + sizeof info.tcpi_delivery_rate) return false;
  if (info.tcpi_delivery_rate == 0) return false;
  throughput->bits_per_second = info.tcpi_delivery_rate > UINT64_MAX / 8 ? UINT64_MAX : info.tcpi_delivery_rate * 8;
  throughput->is_limited_by_sender = info.tcpi_delivery_rate_app_limited;
  return true;
#else
  (void)socket;
  (void)throughput;
  return false;
#endif
}
