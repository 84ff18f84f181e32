#include "TCPConnections.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

enum { maximum_count = 64 };

#ifdef __linux__

#include <sys/epoll.h>

int vidicon_writability_open(void) { return epoll_create1(EPOLL_CLOEXEC); }

bool vidicon_writability_request(int queue, int socket) {
  struct epoll_event event = {.events = EPOLLOUT | EPOLLONESHOT, .data.fd = socket};
  // After its first request a socket stays in the queue until it is closed.
  if (epoll_ctl(queue, EPOLL_CTL_MOD, socket, &event) == 0) return true;
  return errno == ENOENT && epoll_ctl(queue, EPOLL_CTL_ADD, socket, &event) == 0;
}

int vidicon_writability_wait(int queue, int *sockets, int capacity) {
  struct epoll_event events[maximum_count];
  if (capacity > maximum_count) capacity = maximum_count;
  int count;
  do count = epoll_wait(queue, events, capacity, -1);
  while (count < 0 && errno == EINTR);
  for (int index = 0; index < count; index++) sockets[index] = events[index].data.fd;
  return count;
}

#else

#include <sys/event.h>

int vidicon_writability_open(void) { return kqueue(); }

bool vidicon_writability_request(int queue, int socket) {
  struct kevent event;
  EV_SET(&event, socket, EVFILT_WRITE, EV_ADD | EV_ONESHOT, 0, 0, NULL);
  return kevent(queue, &event, 1, NULL, 0, NULL) == 0;
}

int vidicon_writability_wait(int queue, int *sockets, int capacity) {
  struct kevent events[maximum_count];
  if (capacity > maximum_count) capacity = maximum_count;
  int count;
  do count = kevent(queue, NULL, 0, events, capacity, NULL);
  while (count < 0 && errno == EINTR);
  for (int index = 0; index < count; index++) sockets[index] = (int)events[index].ident;
  return count;
}

#endif
