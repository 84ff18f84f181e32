// A client of WHEP or WHIP without a browser: offer and answer over HTTP, connectivity checks, and DTLS with SRTP_AEAD_AES_128_GCM.
#ifndef WHEP_H
#define WHEP_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "srtp.h"

/// Payload types and header extension identifiers of the offer.
enum { video_type = 96, retransmission_type = 97, audio_type = 111, transport_wide_identifier = 3 };

enum whep_state { whep_waiting, whep_posted, whep_answered, whep_checking, whep_securing, whep_connected };

/// One client. Its sockets do not block.
struct whep {
  enum whep_state state;
  /// The connection of the request until its response is read, else -1; and the UDP socket.
  int http, socket;
  /// Whether checks nominate the path; media flows only then.
  bool nominates;
  /// Whether the first check waits for whep_check.
  bool holds;
  /// Time of the request, of the last check, in nanoseconds of the monotonic clock.
  long long posted, checked;
  uint64_t transaction;
  SSL *dtls;
  /// The datagram that DTLS reads.
  const uint8_t *input;
  size_t input_length;
  /// The response so far.
  char *reply;
  size_t reply_length;
  char username[96], password[64], resource[160], fingerprint[100];
  /// SRTP contexts of the server's packets and of this client's; valid once connected.
  struct srtp receives, sends;
};

/// Sends the offer for the stream NAME of a server's HTTP port. Clients with different numbers come from different addresses, as many
/// as a server's limit for one requires.
void whep_post(struct whep *client, int number, int port, const char *name, bool nominates);

/// Sends the offer of a publisher for the stream NAME, with its token.
void whip_post(struct whep *client, int number, int port, const char *name, const char *token);

/// Reads the response; the UDP socket is open when the state is no longer whep_posted.
void whep_read_reply(struct whep *client);

/// Sends the first check of a client that holds it.
void whep_check(struct whep *client);

/// Continues the connection by a datagram of STUN or DTLS; others are ignored.
void whep_receive(struct whep *client, const uint8_t *datagram, size_t length);

/// Repeats checks and flights of DTLS without a response, and renews consent every five seconds; call it ten times a second.
void whep_tick(struct whep *client);

/// Ends the sessions of clients, by DELETE.
void whep_leave(struct whep **clients, int count, int port);

/// Opens a UDP socket that does not block, with coalesced datagrams, kernel timestamps and a large buffer.
int open_media_socket(void);

#endif
