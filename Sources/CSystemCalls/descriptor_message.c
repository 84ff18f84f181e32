#include "DescriptorMessage.h"

#include <string.h>
#include <sys/uio.h>

int vidicon_send_descriptor(
    int socket, const struct sockaddr *address, socklen_t address_length, const void *text, size_t length, int descriptor) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  // Neither is written to: the types are those of recvmsg(2) too.
  struct iovec data = {.iov_base = (void *)text, .iov_len = length};
  struct msghdr message = {
      .msg_name = (void *)address,
      .msg_namelen = address_length,
      .msg_iov = &data,
      .msg_iovlen = 1,
      .msg_control = control.bytes,
      .msg_controllen = sizeof control.bytes,
  };
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(socket, &message, 0) < 0 ? -1 : 0;
}
