#define _GNU_SOURCE

#include "CConnectGuard.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

static _Thread_local vidicon_connect_rule rule = NULL;
static _Thread_local uint32_t refused_count = 0;

void vidicon_connect_guard_begin(vidicon_connect_rule refuses) {
  rule = refuses;
  refused_count = 0;
}

uint32_t vidicon_connect_guard_end(void) {
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

/// Replaces the C library's function for all libraries of the process: the linker binds a symbol to the
/// program first.
__attribute__((used, visibility("default"))) int connect(
    int descriptor, const struct sockaddr *address, socklen_t length) {
  if (rule && address && rule(address, length)) {
    refused_count += 1;
    errno = EACCES;
    return -1;
  }
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
