#define _GNU_SOURCE

#include "CConnectGuard.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>

static _Thread_local bool is_active = false;
static _Thread_local vidicon_connect_rule rule = NULL;
static _Thread_local uint32_t refused_count = 0;

void vidicon_connect_guard_begin(vidicon_connect_rule refuses) {
  is_active = true;
  rule = refuses;
  refused_count = 0;
}

uint32_t vidicon_connect_guard_end(void) {
  is_active = false;
  rule = NULL;
  return refused_count;
}

#ifdef __linux__

typedef int (*connect_function)(int, const struct sockaddr *, socklen_t);

static connect_function next_connect;

/// Finds the next definition of connect, the C library's, before main and before other threads.
__attribute__((constructor)) static void find_next_connect(void) {
  next_connect = (connect_function)dlsym(RTLD_NEXT, "connect");
}

/// Requests signs of life of the peer of a TCP connection: after 5 s without any, and three times, each 3 s. A failure is none of the
/// connection's: it is only noticed later that the peer is gone.
static void keep_alive(int descriptor, const struct sockaddr *address) {
  int type = 0;
  socklen_t length = sizeof type;
  if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6)) return;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) return;
  int on = 1, idle = 5, interval = 3, count = 3;
  setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

/// Replaces the C library's function for all libraries of the process: the linker binds a symbol to the
/// program first.
__attribute__((used, visibility("default"))) int connect(
    int descriptor, const struct sockaddr *address, socklen_t length) {
  if (rule && address && rule(address, length)) {
    refused_count += 1;
    errno = EACCES;
    return -1;
  }
  if (is_active) keep_alive(descriptor, address);
  if (!next_connect) find_next_connect();
  if (!next_connect) {
    errno = ENOSYS;
    return -1;
  }
  return next_connect(descriptor, address, length);
}

bool vidicon_connect_guard_is_effective(void) {
  return dlsym(RTLD_DEFAULT, "connect") == (void *)connect;
}

#else

bool vidicon_connect_guard_is_effective(void) {
  return false;
}

#endif
