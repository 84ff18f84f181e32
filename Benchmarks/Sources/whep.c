#include "whep.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <openssl/err.h>
#include <openssl/srtp.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rtsp.h"
#include "stun.h"

/// Maximum length of a response; clients from one address, less than a server allows; the period of consent checks, RFC 7675 §5.1.
enum { reply_size = 1 << 16, clients_of_address = 90, mtu = 1200 };
static const long long consent_period = 5000000000LL;
static const char client_password[] = "aPasswordOfTheSink000000";

static const char offer[] =
    "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\n"
    "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:%1$s\r\na=ice-pwd:%2$s\r\n"
    "a=fingerprint:sha-256 %3$s\r\na=setup:actpass\r\na=mid:0\r\na=%4$s\r\na=rtcp-mux\r\na=rtcp-rsize\r\n"
    "a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid\r\na=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;useinbandfec=1\r\n"
    "m=video 9 UDP/TLS/RTP/SAVPF 96 97\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:%1$s\r\na=ice-pwd:%2$s\r\n"
    "a=fingerprint:sha-256 %3$s\r\na=setup:actpass\r\na=mid:1\r\na=%4$s\r\na=rtcp-mux\r\na=rtcp-rsize\r\n"
    "a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n"
    "a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid\r\n"
    "a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay\r\n"
    "a=rtpmap:96 H264/90000\r\na=rtcp-fb:96 transport-cc\r\na=rtcp-fb:96 nack\r\na=rtcp-fb:96 nack pli\r\n"
    "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f\r\n"
    "a=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n";

static SSL_CTX *settings;
static BIO_METHOD *method;
static char own_fingerprint[100];

static void write_fingerprint(X509 *certificate, char text[100]) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &length) != 1) fail("SHA-256 failed");
  for (unsigned i = 0; i < length; i++) sprintf(text + 3 * i, i + 1 < length ? "%02X:" : "%02X", digest[i]);
}

// One write is one datagram, which is sent at once.

static int bio_write(BIO *bio, const char *bytes, int length) {
  struct whep *client = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  // A datagram that is refused is lost, and sent again by the timer.
  ssize_t count = send(client->socket, bytes, length, 0);
  (void)count;
  return length;
}

static int bio_read(BIO *bio, char *bytes, int capacity) {
  struct whep *client = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (!client->input) {
    BIO_set_retry_read(bio);
    return -1;
  }
  int length = client->input_length < (size_t)capacity ? (int)client->input_length : capacity;
  memcpy(bytes, client->input, length);
  client->input = NULL;
  return length;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
  (void)bio, (void)number, (void)pointer;
  return command == BIO_CTRL_FLUSH ? 1 : command == BIO_CTRL_DGRAM_QUERY_MTU ? mtu : 0;
}

static int accept_certificate(int is_verified, X509_STORE_CTX *store) {
  // The certificate is compared with the fingerprint of the answer instead.
  (void)is_verified, (void)store;
  return 1;
}

static unsigned timer_duration(SSL *ssl, unsigned last) {
  (void)ssl;
  return last ? 2 * last : 100000;
}

/// Makes the certificate that all clients share.
static void prepare(void) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, (const unsigned char *)"sink", -1, -1, 0);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  X509_set_pubkey(certificate, key);
  settings = SSL_CTX_new(DTLS_client_method());
  if (!X509_sign(certificate, key, EVP_sha256()) || SSL_CTX_use_certificate(settings, certificate) != 1 ||
      SSL_CTX_use_PrivateKey(settings, key) != 1 || SSL_CTX_set_tlsext_use_srtp(settings, "SRTP_AEAD_AES_128_GCM") != 0)
    fail("no certificate: %s", ERR_reason_error_string(ERR_get_error()));
  SSL_CTX_set_options(settings, SSL_OP_NO_QUERY_MTU);
  SSL_CTX_set_verify(settings, SSL_VERIFY_PEER, accept_certificate);
  write_fingerprint(certificate, own_fingerprint);
  method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams");
  BIO_meth_set_write(method, bio_write);
  BIO_meth_set_read(method, bio_read);
  BIO_meth_set_ctrl(method, bio_control);
}

int open_media_socket(void) {
  int result = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), on = 1, size = 4 << 20;
  if (result < 0) fail("socket: %s", strerror(errno));
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(result, (struct sockaddr *)&any, sizeof any) < 0) fail("bind: %s", strerror(errno));
  setsockopt(result, SOL_UDP, UDP_GRO, &on, sizeof on);
  setsockopt(result, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  setsockopt(result, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  return result;
}

/// Sends an offer to a resource of a server.
///
/// - authorization: A field of the request with its line end, or nothing.
static void post(struct whep *client, int number, int port, const char *resource, const char *direction, const char *authorization) {
  if (!settings) prepare();
  char fragment[16], description[sizeof offer + 512], request[sizeof description + 512];
  snprintf(fragment, sizeof fragment, "sink%06d", number % 1000000);
  int length = snprintf(description, sizeof description, offer, fragment, client_password, own_fingerprint, direction);
  length = snprintf(request, sizeof request,
                    "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/sdp\r\n%sContent-Length: %d\r\n"
                    "Connection: close\r\n\r\n%s",
                    resource, port, authorization, length, description);
  struct sockaddr_in source = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK + number / clients_of_address % 200)},
                     server = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int connection = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(connection, SOL_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  client->posted = now();
  if (bind(connection, (struct sockaddr *)&source, sizeof source) < 0 ||
      connect(connection, (struct sockaddr *)&server, sizeof server) < 0 ||
      send(connection, request, length, MSG_NOSIGNAL) != length)
    fail("port %d: %s", port, strerror(errno));
  fcntl(connection, F_SETFL, O_NONBLOCK);
  client->http = connection;
  client->socket = -1;
  client->state = whep_posted;
  client->reply = malloc(reply_size);
  client->reply_length = 0;
  // The server's fragment precedes this one's in checks, RFC 8445 §7.2.2.
  snprintf(client->username, sizeof client->username, ":%s", fragment);
}

void whep_post(struct whep *client, int number, int port, const char *name, bool nominates) {
  char resource[160];
  snprintf(resource, sizeof resource, "/%s/whep", name);
  post(client, number, port, resource, "recvonly", "");
  client->nominates = nominates;
}

void whip_post(struct whep *client, int number, int port, const char *name, const char *token) {
  char resource[160], authorization[160];
  snprintf(resource, sizeof resource, "/%s/whip", name);
  snprintf(authorization, sizeof authorization, "Authorization: Bearer %s\r\n", token);
  post(client, number, port, resource, "sendonly", authorization);
  client->nominates = true;
}

/// Copies what follows a prefix in a text, up to the end of the line.
static bool find_value(const char *text, const char *prefix, char *value, size_t size) {
  const char *found = strcasestr(text, prefix);
  if (!found) return false;
  found += strlen(prefix);
  size_t length = strcspn(found, "\r\n");
  if (length >= size) return false;
  memcpy(value, found, length);
  value[length] = 0;
  return true;
}

static void send_check(struct whep *client) {
  uint8_t check[maximum_check_length];
  size_t length = stun_check(check, ++client->transaction, client->username, client->password, client->nominates);
  client->checked = now();
  ssize_t count = send(client->socket, check, length, 0);
  (void)count;
}

void whep_check(struct whep *client) {
  client->state = whep_checking;
  send_check(client);
}

static void handle_answer(struct whep *client) {
  const char *text = client->reply;
  if (strncmp(text, "HTTP/1.1 201", 12)) fail("refused: %s", text);
  char location[128], server_fragment[64], candidate[128], fragment[16], ip[64];
  unsigned port = 0;
  strcpy(fragment, client->username);
  if (!find_value(text, "\nLocation: ../", location, sizeof location) ||
      !find_value(text, "\na=ice-ufrag:", server_fragment, sizeof server_fragment) ||
      !find_value(text, "\na=ice-pwd:", client->password, sizeof client->password) ||
      !find_value(text, "\na=fingerprint:sha-256 ", client->fingerprint, sizeof client->fingerprint) ||
      !find_value(text, "\na=candidate:", candidate, sizeof candidate) ||
      sscanf(candidate, "%*s 1 udp %*u %63s %u", ip, &port) != 2)
    fail("an answer without transport or candidate: %s", text);
  // Relative to "/NAME/whep" or "/NAME/whip".
  snprintf(client->resource, sizeof client->resource, "/%s", location);
  snprintf(client->username, sizeof client->username, "%s%s", server_fragment, fragment);
  struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = inet_addr(ip)};
  client->socket = open_media_socket();
  if (connect(client->socket, (struct sockaddr *)&server, sizeof server) < 0) fail("%s: %s", ip, strerror(errno));
  client->state = whep_answered;
  if (!client->holds) whep_check(client);
}

void whep_read_reply(struct whep *client) {
  ssize_t count = recv(client->http, client->reply + client->reply_length, reply_size - 1 - client->reply_length, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count > 0) {
    client->reply_length += count;
    client->reply[client->reply_length] = 0;
    char *end = strstr(client->reply, "\r\n\r\n"), *length = strcasestr(client->reply, "\r\nContent-Length:");
    if (!end || !length || length > end) return;
    if (client->reply_length < (size_t)(end + 4 - client->reply) + atoi(length + 17)) return;
  }
  if (count <= 0) fail("no answer: %.*s", (int)client->reply_length, client->reply);
  handle_answer(client);
  close(client->http);
  free(client->reply);
  client->http = -1;
  client->reply = NULL;
}

static void start_dtls(struct whep *client) {
  client->dtls = SSL_new(settings);
  BIO *bio = BIO_new(method);
  BIO_set_data(bio, client);
  BIO_set_init(bio, 1);
  SSL_set_bio(client->dtls, bio, bio);
  SSL_set_mtu(client->dtls, mtu);
  SSL_set_connect_state(client->dtls);
  DTLS_set_timer_cb(client->dtls, timer_duration);
  client->state = whep_securing;
}

static void continue_dtls(struct whep *client) {
  static const char label[] = "EXTRACTOR-dtls_srtp";
  int result = SSL_do_handshake(client->dtls);
  if (result != 1) {
    if (SSL_get_error(client->dtls, result) == SSL_ERROR_WANT_READ) return;
    fail("DTLS: %s", ERR_reason_error_string(ERR_get_error()));
  }
  uint8_t keys[exported_length];
  char fingerprint[100];
  X509 *certificate = SSL_get1_peer_certificate(client->dtls);
  write_fingerprint(certificate, fingerprint);
  X509_free(certificate);
  if (strcasecmp(fingerprint, client->fingerprint)) fail("the certificate is not that of the answer");
  if (!SSL_get_selected_srtp_profile(client->dtls) ||
      SSL_export_keying_material(client->dtls, keys, sizeof keys, label, sizeof label - 1, NULL, 0, 0) != 1)
    fail("no keys for SRTP");
  srtp_create(&client->receives, keys, true, false);
  srtp_create(&client->sends, keys, false, true);
  // The server's last flight ended the handshake: nothing has to be sent again.
  SSL_free(client->dtls);
  client->dtls = NULL;
  client->state = whep_connected;
}

void whep_receive(struct whep *client, const uint8_t *datagram, size_t length) {
  // The server sends media only to an address that answers its checks.
  uint8_t answer[maximum_check_length];
  size_t answer_length = stun_answer(answer, datagram, length, client_password);
  if (answer_length) {
    ssize_t count = send(client->socket, answer, answer_length, 0);
    (void)count;
    return;
  }
  // RFC 7983 §7.
  if (client->state == whep_checking && stun_is_success(datagram, length)) {
    start_dtls(client);
    continue_dtls(client);
  } else if (client->state == whep_securing && length && datagram[0] >= 20 && datagram[0] <= 63) {
    client->input = datagram;
    client->input_length = length;
    continue_dtls(client);
    client->input = NULL;
  }
}

void whep_tick(struct whep *client) {
  if (client->state == whep_checking && now() - client->checked > 90000000) send_check(client);
  if (client->state == whep_securing) DTLSv1_handle_timeout(client->dtls);
  if (client->state == whep_connected && now() - client->checked > consent_period) send_check(client);
}

void whep_leave(struct whep **clients, int count, int port) {
  for (int i = 0; i < count; i++) {
    if (!clients[i]->resource[0]) continue;
    char request[512], reply[4096];
    int connection = tcp_connect(port);
    int length = snprintf(request, sizeof request, "DELETE %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
                          clients[i]->resource);
    // The end of the process ends the session as well, later.
    if (send(connection, request, length, MSG_NOSIGNAL) == length) recv(connection, reply, sizeof reply, 0);
    close(connection);
    close(clients[i]->socket);
    if (clients[i]->state == whep_connected) {
      srtp_destroy(&clients[i]->receives);
      srtp_destroy(&clients[i]->sends);
    }
    SSL_free(clients[i]->dtls);
    memset(clients[i], 0, sizeof *clients[i]);
    clients[i]->http = clients[i]->socket = -1;
  }
}
