#ifndef VIDICON_CDTLS_H
#define VIDICON_CDTLS_H

// DTLS 1.2 with SRTP profiles (RFC 6347, RFC 5764), and the ciphers of SRTP, by OpenSSL 3. In C, since many of OpenSSL's
// functions are macros. No function blocks or uses a socket.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Certificate, key and settings that all endpoints of a process share.
typedef struct vidicon_dtls_context vidicon_dtls_context;

/// One side of a DTLS association.
typedef struct vidicon_dtls vidicon_dtls;

typedef enum {
  VIDICON_DTLS_HANDSHAKING,
  VIDICON_DTLS_CONNECTED,
  /// The peer sent close_notify.
  VIDICON_DTLS_CLOSED,
  VIDICON_DTLS_FAILED,
} vidicon_dtls_state;

/// Length of a datagram that an endpoint sends at most, in bytes: fits every path of the Internet.
#define VIDICON_DTLS_MTU 1200

/// Makes a context with a new self-signed ECDSA P-256 certificate; NULL when memory or random numbers are lacking.
vidicon_dtls_context *vidicon_dtls_context_create(void);
void vidicon_dtls_context_destroy(vidicon_dtls_context *context);

/// Writes the SHA-256 of the certificate (32 bytes), RFC 8122 §5.
bool vidicon_dtls_context_fingerprint(const vidicon_dtls_context *context, uint8_t *digest);

/// Makes an endpoint; NULL when memory is lacking. A client must be started by vidicon_dtls_receive without bytes.
///
/// timeout: microseconds before a flight is sent again; doubles each time.
vidicon_dtls *vidicon_dtls_create(vidicon_dtls_context *context, bool is_server, unsigned int timeout);
void vidicon_dtls_destroy(vidicon_dtls *dtls);

/// Processes a received datagram, or starts a client when length is 0. Datagrams to send are queued.
vidicon_dtls_state vidicon_dtls_receive(vidicon_dtls *dtls, const uint8_t *bytes, size_t length);

/// Microseconds until vidicon_dtls_handle_timeout is due; negative while nothing is to be sent again.
int64_t vidicon_dtls_timeout(const vidicon_dtls *dtls);

/// Sends the last flight again when that is due. Fails when it was sent too often.
vidicon_dtls_state vidicon_dtls_handle_timeout(vidicon_dtls *dtls);

/// Sends close_notify.
void vidicon_dtls_close(vidicon_dtls *dtls);

/// Moves the next datagram to send into buffer, of VIDICON_DTLS_MTU bytes; returns its length, 0 without one.
size_t vidicon_dtls_next_datagram(vidicon_dtls *dtls, uint8_t *buffer);

/// Number of the agreed SRTP profile (RFC 5764 §4.1.2); 0 without one.
uint16_t vidicon_dtls_srtp_profile(const vidicon_dtls *dtls);

/// Exports keying material with the label of RFC 5764 §4.2; false before the handshake's end.
bool vidicon_dtls_export_srtp_keys(vidicon_dtls *dtls, uint8_t *keys, size_t length);

/// Writes the digest of the peer's certificate: bits is 256, 384 or 512. Returns its length in bytes, 0 on failure.
size_t vidicon_dtls_peer_fingerprint(const vidicon_dtls *dtls, int bits, uint8_t *digest);

/// A key of SRTP for one direction, with contexts that are made once.
typedef struct vidicon_srtp_cipher vidicon_srtp_cipher;

/// AES-128-GCM; the key has 16 bytes.
vidicon_srtp_cipher *vidicon_srtp_gcm_create(const uint8_t *key, bool seals);
/// AES-128 in counter mode with HMAC-SHA1; the keys have 16 and 20 bytes.
vidicon_srtp_cipher *vidicon_srtp_cm_create(const uint8_t *key, const uint8_t *authentication_key);
void vidicon_srtp_cipher_destroy(vidicon_srtp_cipher *cipher);

/// Bytes that are authenticated besides the ciphertext; trailer may be empty.
typedef struct {
  const uint8_t *header;
  size_t header_length;
  const uint8_t *trailer;
  size_t trailer_length;
} vidicon_srtp_associated;

/// Encrypts length bytes and writes the tag. nonce has 12 bytes with GCM, else 16. output may be input.
bool vidicon_srtp_seal(vidicon_srtp_cipher *cipher, const uint8_t *nonce, vidicon_srtp_associated associated,
                       const uint8_t *input, size_t length, uint8_t *output, uint8_t *tag, size_t tag_length);

/// Checks the tag and decrypts length bytes; the output is undefined when it returns false.
bool vidicon_srtp_open(vidicon_srtp_cipher *cipher, const uint8_t *nonce, vidicon_srtp_associated associated,
                       const uint8_t *input, size_t length, uint8_t *output, const uint8_t *tag, size_t tag_length);

#endif
