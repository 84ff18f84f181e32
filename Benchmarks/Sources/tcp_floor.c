// tcp_floor FILE VIEWERS: the minimum cost of sending a stream to viewers over TCP.
//
// Prints its port, waits until all viewers are connected, then repeatedly sends them a recording at its original pace:
// one writev per viewer and access unit, from one buffer, on one thread, and nothing else. Its sockets have TCP_NODELAY, as those of
// the program have.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "rtsp.h"
#include "units.h"

int main(int argc, char **argv) {
  if (argc != 3) fail("usage: tcp_floor FILE VIEWERS");
  struct recording recording = load_recording(argv[1]);
  int count = atoi(argv[2]);
  int *viewers = calloc(count, sizeof *viewers);
  raise_open_files();
  signal(SIGPIPE, SIG_IGN);

  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 4096) < 0) fail("cannot listen");
  getsockname(listener, (struct sockaddr *)&address, &length);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (int i = 0; i < count; i++) {
    int on = 1;
    viewers[i] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (setsockopt(viewers[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0) fail("cannot set TCP_NODELAY");
  }

  for (long long start = now();; start += recording.period) {
    for (int i = 0; i < recording.count; i++) {
      struct unit *unit = &recording.units[i];
      long long due = start + unit->header.time;
      struct timespec time = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
      for (int viewer = 0; viewer < count; viewer++) {
        struct iovec vector = {unit->bytes, unit->header.length};
        ssize_t sent = writev(viewers[viewer], &vector, 1);
        if (sent < 0 && errno != EAGAIN) return 0;  // The viewers have gone.
        if (sent != (ssize_t)unit->header.length) fail("a viewer cannot keep up");
      }
    }
  }
}
