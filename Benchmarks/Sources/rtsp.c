#include "rtsp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

_Noreturn void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

void raise_open_files(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// The server's numeric address: that of the environment variable RTSP_HOST, or this machine.
static const char *host(void) {
  const char *name = getenv("RTSP_HOST");
  return name ? name : "127.0.0.1";
}

int tcp_connect(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = inet_addr(host())};
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) < 0)
    fail("port %d: %s", port, strerror(errno));
  return connection;
}

/// TLS of the connections that have it, by descriptor.
static SSL *encrypted[1 << 20];

void tcp_secure(int connection) {
  static SSL_CTX *context;
  if (!context) {
    context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
  }
  SSL *tls = SSL_new(context);
  SSL_set_fd(tls, connection);
  if (SSL_connect(tls) != 1) fail("TLS: %s", ERR_reason_error_string(ERR_get_error()));
  encrypted[connection] = tls;
}

static ssize_t send_all(int connection, const char *text, size_t length) {
  if (encrypted[connection]) return SSL_write(encrypted[connection], text, length);
  return send(connection, text, length, MSG_NOSIGNAL);
}

ssize_t tcp_receive(int connection, void *buffer, size_t size) {
  SSL *tls = encrypted[connection];
  if (!tls) return recv(connection, buffer, size, MSG_DONTWAIT);
  int flags = fcntl(connection, F_GETFL);
  if (!(flags & O_NONBLOCK)) fcntl(connection, F_SETFL, flags | O_NONBLOCK);
  int count = SSL_read(tls, buffer, size);
  if (count > 0) return count;
  int error = SSL_get_error(tls, count);
  errno = error == SSL_ERROR_WANT_READ ? EAGAIN : EPROTO;
  return error == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

/// Sends a request and reads its reply, body included, into `reply`.
static void ask(int connection, const char *request, char *reply, size_t size) {
  if (send_all(connection, request, strlen(request)) < 0) fail("send: %s", strerror(errno));
  size_t length = 0, wanted = 0;
  while (!wanted || length < wanted) {
    SSL *tls = encrypted[connection];
    ssize_t count = tls ? SSL_read(tls, reply + length, size - 1 - length)
                        : recv(connection, reply + length, size - 1 - length, 0);
    if (count <= 0) fail("no reply to: %s", request);
    length += count;
    reply[length] = 0;
    char *end = strstr(reply, "\r\n\r\n");
    if (wanted || !end) continue;
    char *body = strcasestr(reply, "Content-Length:");
    wanted = end + 4 - reply + (body && body < end ? atoi(body + 15) : 0);
  }
  if (strncmp(reply, "RTSP/1.0 200", 12)) fail("%s refused: %s", request, reply);
}

int rtsp_set_up(int connection, int port, const char *name, const int *rtp_ports, char session[64]) {
  char request[1024], description[65536], reply[65536], url[512];
  snprintf(url, sizeof url, "rtsp://%s:%d/%s", host(), port, name);
  snprintf(request, sizeof request, "DESCRIBE %s RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n", url);
  ask(connection, request, description, sizeof description);
  session[0] = 0;
  int tracks = 0;
  for (char *line = strstr(description, "\r\nm="); line && tracks < 2; line = strstr(line + 1, "\r\nm=")) {
    char control[256] = "", track[800], transport[128];
    char *found = strstr(line, "\r\na=control:");
    if (!found) fail("a track without control");
    sscanf(found + 12, "%255[^\r\n]", control);
    if (strncmp(control, "rtsp://", 7))
      snprintf(track, sizeof track, "%s/%s", url, control);
    else
      snprintf(track, sizeof track, "%s", control);
    if (rtp_ports)
      snprintf(transport, sizeof transport, "RTP/AVP;unicast;client_port=%d-%d", rtp_ports[tracks], rtp_ports[tracks] + 1);
    else
      snprintf(transport, sizeof transport, "RTP/AVP/TCP;unicast;interleaved=%d-%d", tracks * 2, tracks * 2 + 1);
    snprintf(request, sizeof request, "SETUP %s RTSP/1.0\r\nCSeq: %d\r\nTransport: %s\r\n%s%s%s\r\n", track, tracks + 2,
             transport, *session ? "Session: " : "", session, *session ? "\r\n" : "");
    ask(connection, request, reply, sizeof reply);
    char *header = strcasestr(reply, "\r\nSession:");
    if (!header || sscanf(header + 10, " %63[^;\r\n]", session) != 1) fail("no session in: %s", reply);
    tracks++;
  }
  return tracks;
}

void rtsp_play(int connection, int port, const char *name, const char *session) {
  char request[1024];
  int length = snprintf(request, sizeof request, "PLAY rtsp://%s:%d/%s RTSP/1.0\r\nCSeq: 9\r\nSession: %s\r\n\r\n",
                        host(), port, name, session);
  if (send_all(connection, request, length) != length) fail("send: %s", strerror(errno));
}
