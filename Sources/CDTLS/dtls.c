#include "CDTLS.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/srtp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

/// Maximum number of queued datagrams; a flight of five records has at most as many.
enum { QUEUE_LENGTH = 16 };

/// Maximum time before a flight is sent again, in microseconds.
enum { MAXIMUM_TIMEOUT = 3000000 };

struct vidicon_dtls_context {
  SSL_CTX *settings;
  BIO_METHOD *method;
  X509 *certificate;
};

struct vidicon_dtls {
  SSL *ssl;
  vidicon_dtls_state state;
  // Microseconds before a flight is sent again for the first time.
  unsigned int timeout;
  // The datagram being read; NULL without one.
  const uint8_t *input;
  size_t input_length;
  // Datagrams in memory of their own, of which there is none between two flights.
  uint8_t *output[QUEUE_LENGTH];
  size_t output_lengths[QUEUE_LENGTH];
  size_t first;
  size_t count;
};

// Writes that fit are one datagram, RFC 6347 §4.1.1; OpenSSL's memory BIO would join all. OpenSSL writes a flight at once, and
// record by record when it sends it again: the loss of one of five would cost the flight again.

static int bio_write(BIO *bio, const char *bytes, int length) {
  vidicon_dtls *dtls = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (length <= 0 || length > VIDICON_DTLS_MTU) return -1;
  size_t last = (dtls->first + dtls->count + QUEUE_LENGTH - 1) % QUEUE_LENGTH;
  size_t joined = dtls->output_lengths[last] + (size_t)length;
  if (dtls->count > 0 && joined <= VIDICON_DTLS_MTU) {
    uint8_t *longer = realloc(dtls->output[last], joined);
    if (longer == NULL) return length;
    memcpy(longer + joined - (size_t)length, bytes, (size_t)length);
    dtls->output[last] = longer;
    dtls->output_lengths[last] = joined;
    return length;
  }
  // A datagram that finds no place is lost, as on a network.
  uint8_t *datagram = dtls->count < QUEUE_LENGTH ? malloc((size_t)length) : NULL;
  if (datagram != NULL) {
    size_t slot = (dtls->first + dtls->count++) % QUEUE_LENGTH;
    memcpy(datagram, bytes, (size_t)length);
    dtls->output[slot] = datagram;
    dtls->output_lengths[slot] = (size_t)length;
  }
  return length;
}

static int bio_read(BIO *bio, char *bytes, int capacity) {
  vidicon_dtls *dtls = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (dtls->input == NULL || capacity <= 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  // The rest of a datagram that is longer than the buffer is lost, as with a socket.
  size_t length = dtls->input_length < (size_t)capacity ? dtls->input_length : (size_t)capacity;
  memcpy(bytes, dtls->input, length);
  dtls->input = NULL;
  return (int)length;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
  (void)bio, (void)number, (void)pointer;
  switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_DGRAM_QUERY_MTU:
    case BIO_CTRL_DGRAM_GET_FALLBACK_MTU: return VIDICON_DTLS_MTU;
    default: return 0;
  }
}

/// Accepts each certificate, in place of a search for its issuers; it is compared with the fingerprint of the session description
/// afterwards.
static int accept_certificate(X509_STORE_CTX *store, void *context) {
  (void)store, (void)context;
  return 1;
}

/// Time before a flight is sent again, in microseconds.
static unsigned int timer_duration(SSL *ssl, unsigned int last) {
  const vidicon_dtls *dtls = SSL_get_app_data(ssl);
  if (last == 0) return dtls->timeout;
  return last < MAXIMUM_TIMEOUT / 2 ? 2 * last : MAXIMUM_TIMEOUT;
}

static X509 *make_certificate(EVP_PKEY *key) {
  X509 *certificate = X509_new();
  uint8_t serial[8];
  if (certificate == NULL || RAND_bytes(serial, sizeof serial) != 1) goto failed;
  uint64_t number = 0;
  for (size_t index = 0; index < sizeof serial; index++) number = number << 8 | serial[index];
  X509_NAME *name = X509_get_subject_name(certificate);
  // A day for clocks that differ, and thirty years: peers compare the fingerprint only.
  if (!X509_set_version(certificate, X509_VERSION_3) ||
      !ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number >> 1 | 1) ||
      !X509_gmtime_adj(X509_getm_notBefore(certificate), -86400) ||
      !X509_time_adj_ex(X509_getm_notAfter(certificate), 30 * 365, 0, NULL) ||
      !X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"vidicon", -1, -1, 0) ||
      !X509_set_issuer_name(certificate, name) || !X509_set_pubkey(certificate, key) ||
      !X509_sign(certificate, key, EVP_sha256()))
    goto failed;
  return certificate;
failed:
  X509_free(certificate);
  return NULL;
}

vidicon_dtls_context *vidicon_dtls_context_create(void) {
  vidicon_dtls_context *context = calloc(1, sizeof *context);
  EVP_PKEY *key = EVP_EC_gen("P-256");
  if (context == NULL || key == NULL) goto failed;
  context->certificate = make_certificate(key);
  context->settings = SSL_CTX_new(DTLS_method());
  context->method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams in memory");
  SSL_CTX *settings = context->settings;
  if (context->certificate == NULL || settings == NULL || context->method == NULL) goto failed;
  BIO_meth_set_write(context->method, bio_write);
  BIO_meth_set_read(context->method, bio_read);
  BIO_meth_set_ctrl(context->method, bio_control);
  // OpenSSL would ask the BIO for its MTU and cut messages into pieces of 256 bytes without a good answer.
  SSL_CTX_set_options(settings, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                    SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(settings, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(settings, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  SSL_CTX_set_cert_verify_callback(settings, accept_certificate, NULL);
  // RFC 8827 §6.5 requires the first cipher suite. The last one is for servers with a certificate of RSA; endpoints that are servers never
  // choose it, since their own is of ECDSA. SSL_CTX_set_tlsext_use_srtp returns 0 on success.
  if (!SSL_CTX_set_min_proto_version(settings, DTLS1_2_VERSION) ||
      !SSL_CTX_set_max_proto_version(settings, DTLS1_2_VERSION) ||
      !SSL_CTX_set_cipher_list(settings, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:"
                                         "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256") ||
      // Certificates of peers must be on one of these curves; that of FFmpeg's WHIP with GnuTLS is on the last.
      !SSL_CTX_set1_groups_list(settings, "X25519:P-256:P-384:P-521:P-224") ||
      SSL_CTX_set_tlsext_use_srtp(settings, "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80") != 0 ||
      !SSL_CTX_use_certificate(settings, context->certificate) || !SSL_CTX_use_PrivateKey(settings, key))
    goto failed;
  EVP_PKEY_free(key);
  return context;
failed:
  ERR_clear_error();
  EVP_PKEY_free(key);
  vidicon_dtls_context_destroy(context);
  return NULL;
}

void vidicon_dtls_context_destroy(vidicon_dtls_context *context) {
  if (context == NULL) return;
  SSL_CTX_free(context->settings);
  BIO_meth_free(context->method);
  X509_free(context->certificate);
  free(context);
}

bool vidicon_dtls_context_fingerprint(const vidicon_dtls_context *context, uint8_t *digest) {
  unsigned int length = 0;
  return X509_digest(context->certificate, EVP_sha256(), digest, &length) == 1 && length == 32;
}

vidicon_dtls *vidicon_dtls_create(vidicon_dtls_context *context, bool is_server, unsigned int timeout) {
  vidicon_dtls *dtls = calloc(1, sizeof *dtls);
  if (dtls == NULL) return NULL;
  dtls->timeout = timeout;
  dtls->ssl = SSL_new(context->settings);
  BIO *bio = BIO_new(context->method);
  if (dtls->ssl == NULL || bio == NULL) {
    BIO_free(bio);
    vidicon_dtls_destroy(dtls);
    ERR_clear_error();
    return NULL;
  }
  BIO_set_data(bio, dtls);
  BIO_set_init(bio, 1);
  SSL_set_bio(dtls->ssl, bio, bio);
  SSL_set_mtu(dtls->ssl, VIDICON_DTLS_MTU);
  SSL_set_app_data(dtls->ssl, dtls);
  DTLS_set_timer_cb(dtls->ssl, timer_duration);
  if (is_server) {
    SSL_set_accept_state(dtls->ssl);
  } else {
    SSL_set_connect_state(dtls->ssl);
  }
  return dtls;
}

void vidicon_dtls_destroy(vidicon_dtls *dtls) {
  if (dtls == NULL) return;
  SSL_free(dtls->ssl);
  // Datagrams are ciphertext or public: nothing to erase.
  for (size_t index = 0; index < dtls->count; index++) free(dtls->output[(dtls->first + index) % QUEUE_LENGTH]);
  free(dtls);
}

vidicon_dtls_state vidicon_dtls_receive(vidicon_dtls *dtls, const uint8_t *bytes, size_t length) {
  if (dtls->state == VIDICON_DTLS_CLOSED || dtls->state == VIDICON_DTLS_FAILED) return dtls->state;
  dtls->input = length > 0 ? bytes : NULL;
  dtls->input_length = length;
  ERR_clear_error();
  if (dtls->state == VIDICON_DTLS_HANDSHAKING) {
    int result = SSL_do_handshake(dtls->ssl);
    if (result == 1) {
      dtls->state = VIDICON_DTLS_CONNECTED;
    } else if (SSL_get_error(dtls->ssl, result) != SSL_ERROR_WANT_READ) {
      dtls->state = VIDICON_DTLS_FAILED;
    }
  }
  if (dtls->state == VIDICON_DTLS_CONNECTED) {
    // Reads retransmissions of the last flight, which are answered, and alerts. Application data is discarded.
    uint8_t discarded[2048];
    int result = SSL_alloc_buffers(dtls->ssl) == 1 ? 1 : -1;
    while (result > 0) result = SSL_read(dtls->ssl, discarded, sizeof discarded);
    int error = SSL_get_error(dtls->ssl, result);
    if (error == SSL_ERROR_ZERO_RETURN) {
      dtls->state = VIDICON_DTLS_CLOSED;
    } else if (error != SSL_ERROR_WANT_READ) {
      dtls->state = VIDICON_DTLS_FAILED;
    }
    // The buffers for a record in and one out have 33 kB, and media does not pass through them: sessions have them only while a
    // datagram of DTLS is read. SSL_MODE_RELEASE_BUFFERS has no effect with DTLS.
    SSL_free_buffers(dtls->ssl);
  }
  dtls->input = NULL;
  ERR_clear_error();
  return dtls->state;
}

int64_t vidicon_dtls_timeout(const vidicon_dtls *dtls) {
  struct timeval remaining;
  if (dtls->state != VIDICON_DTLS_HANDSHAKING || DTLSv1_get_timeout(dtls->ssl, &remaining) != 1) return -1;
  return (int64_t)remaining.tv_sec * 1000000 + remaining.tv_usec;
}

vidicon_dtls_state vidicon_dtls_handle_timeout(vidicon_dtls *dtls) {
  if (dtls->state == VIDICON_DTLS_HANDSHAKING && DTLSv1_handle_timeout(dtls->ssl) < 0) {
    dtls->state = VIDICON_DTLS_FAILED;
  }
  ERR_clear_error();
  return dtls->state;
}

void vidicon_dtls_close(vidicon_dtls *dtls) {
  // An alert is written without a check for the buffer.
  if (dtls->state == VIDICON_DTLS_CONNECTED && SSL_alloc_buffers(dtls->ssl) == 1) SSL_shutdown(dtls->ssl);
  if (dtls->state != VIDICON_DTLS_FAILED) dtls->state = VIDICON_DTLS_CLOSED;
  ERR_clear_error();
}

size_t vidicon_dtls_next_datagram(vidicon_dtls *dtls, uint8_t *buffer) {
  if (dtls->count == 0) return 0;
  size_t length = dtls->output_lengths[dtls->first];
  memcpy(buffer, dtls->output[dtls->first], length);
  free(dtls->output[dtls->first]);
  dtls->first = (dtls->first + 1) % QUEUE_LENGTH;
  dtls->count--;
  return length;
}

uint16_t vidicon_dtls_srtp_profile(const vidicon_dtls *dtls) {
  const SRTP_PROTECTION_PROFILE *profile = SSL_get_selected_srtp_profile(dtls->ssl);
  return profile == NULL ? 0 : (uint16_t)profile->id;
}

bool vidicon_dtls_export_srtp_keys(vidicon_dtls *dtls, uint8_t *keys, size_t length) {
  static const char label[] = "EXTRACTOR-dtls_srtp";
  bool is_exported = dtls->state == VIDICON_DTLS_CONNECTED &&
                     SSL_export_keying_material(dtls->ssl, keys, length, label, sizeof label - 1, NULL, 0, 0) == 1;
  ERR_clear_error();
  return is_exported;
}

size_t vidicon_dtls_peer_fingerprint(const vidicon_dtls *dtls, int bits, uint8_t *digest) {
  const EVP_MD *algorithm = bits == 256   ? EVP_sha256()
                            : bits == 384 ? EVP_sha384()
                            : bits == 512 ? EVP_sha512()
                                          : NULL;
  X509 *certificate = SSL_get1_peer_certificate(dtls->ssl);
  unsigned int length = 0;
  if (algorithm == NULL || certificate == NULL || X509_digest(certificate, algorithm, digest, &length) != 1) length = 0;
  X509_free(certificate);
  ERR_clear_error();
  return length;
}
