#ifdef __linux__
#define _GNU_SOURCE
#endif

#include "COffload.h"

#ifdef __linux__

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint32_t failing;
static _Atomic uint32_t counted;
static _Atomic unsigned count;

void vidicon_offload_fails_to(uint32_t address) { failing = address; }

unsigned vidicon_offloaded_messages(uint32_t address) {
  counted = address;
  return atomic_exchange(&count, 0);
}

static uint32_t ipv4_address(const struct msghdr *message) {
  const struct sockaddr_in *address = message->msg_name;
  return address && message->msg_namelen >= sizeof *address && address->sin_family == AF_INET
             ? ntohl(address->sin_addr.s_addr)
             : 0;
}

/// In place of the system's, for the whole process.
int sendmmsg(int socket, struct mmsghdr *messages, unsigned length, int flags) {
  for (unsigned index = 0; index < length && failing != 0; index++) {
    if (messages[index].msg_hdr.msg_controllen == 0 || ipv4_address(&messages[index].msg_hdr) != failing) continue;
    if (index > 0) {
      // The messages before it are sent.
      length = index;
      break;
    }
    errno = EIO;
    return -1;
  }
  int sent = (int)syscall(SYS_sendmmsg, socket, messages, length, flags);
  for (int index = 0; index < sent; index++)
    if (messages[index].msg_hdr.msg_controllen > 0 && ipv4_address(&messages[index].msg_hdr) == counted) count++;
  return sent;
}

#else

void vidicon_offload_fails_to(uint32_t address) { (void)address; }
unsigned vidicon_offloaded_messages(uint32_t address) {
  (void)address;
  return 0;
}

#endif
