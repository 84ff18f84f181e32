#ifndef VIDICON_CCRYPTOGRAPHY_H
#define VIDICON_CCRYPTOGRAPHY_H

// Hash functions, keys and certificates by libcrypto of OpenSSL 3, for the room Cryptography alone. In C, since many of libcrypto's
// functions are macros. No function reads a file, blocks, or asks for a passphrase.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The reason for the last failure of this thread, which is forgotten with the call; NULL where libcrypto has none. Never freed.
const char *vidicon_failure(void);

/// Writes zeros over bytes; the compiler does not leave that out.
void vidicon_erase(void *bytes, size_t count);

/// Whether as many bytes are equal, in a time that depends on their number only.
bool vidicon_is_equal(const void *first, const void *second, size_t count);

typedef enum {
  /// RFC 1321, 16 bytes.
  VIDICON_MD5,
  /// FIPS 180-4, 20 bytes.
  VIDICON_SHA1,
  /// FIPS 180-4, 32 bytes.
  VIDICON_SHA256,
} vidicon_hash_function;

/// Writes the digest of a message.
bool vidicon_hash(vidicon_hash_function function, const uint8_t *message, size_t count, uint8_t *digest);

/// Writes the authentication code of a message, RFC 2104, of the digest's length.
bool vidicon_hmac(vidicon_hash_function function, const uint8_t *key, size_t key_count, const uint8_t *message, size_t count,
                  uint8_t *code);

/// Writes a key that is derived from a password, RFC 7914, with at most 32 MiB of memory.
bool vidicon_scrypt(const uint8_t *password, size_t password_count, const uint8_t *salt, size_t salt_count, uint64_t rounds,
                    uint64_t block_size, uint64_t parallelism, uint8_t *key, size_t key_count);

/// Writes the first bytes of the key stream of AES-128 in counter mode, SP 800-38A §6.5; key and first counter have 16 bytes.
bool vidicon_aes128_key_stream(const uint8_t *key, const uint8_t *counter, uint8_t *stream, size_t count);

/// Bytes that a function has written.
typedef struct bio_st vidicon_buffer;

const uint8_t *vidicon_buffer_bytes(vidicon_buffer *buffer, size_t *count);
/// Erases and frees a buffer.
void vidicon_buffer_destroy(vidicon_buffer *buffer);

/// A private key.
typedef struct evp_pkey_st vidicon_key;

/// Makes a key on the curve P-256, FIPS 186-5; NULL when memory or random numbers are lacking.
vidicon_key *vidicon_key_generate(void);
void vidicon_key_destroy(vidicon_key *key);

/// The key in PKCS #8 and PEM, RFC 7468 §10; NULL on failure.
vidicon_buffer *vidicon_key_pem(const vidicon_key *key);

/// A certificate, RFC 5280.
typedef struct x509_st vidicon_certificate;

/// Reads a certificate in DER; NULL for a malformed one.
vidicon_certificate *vidicon_certificate_read(const uint8_t *der, size_t count);
void vidicon_certificate_destroy(vidicon_certificate *certificate);

/// Reads a text of PEM, RFC 7468, that has one key, one certificate, or both in either order, and no other document. Encrypted keys are
/// none.
///
/// key, certificate: receive what is read; NULL for a kind that is not accepted. Unchanged when the function returns false.
bool vidicon_pem_read(const uint8_t *text, size_t count, vidicon_key **key, vidicon_certificate **certificate);

vidicon_buffer *vidicon_certificate_der(const vidicon_certificate *certificate);
/// The certificate in PEM, RFC 7468 §5; NULL on failure.
vidicon_buffer *vidicon_certificate_pem(const vidicon_certificate *certificate);

/// Writes start and end of the validity, §4.1.2.5, in seconds since 1970; false where they are no times.
bool vidicon_certificate_validity(const vidicon_certificate *certificate, int64_t *not_before, int64_t *not_after);

/// Whether the certificate has the public key of this private key.
bool vidicon_certificate_has_key(const vidicon_certificate *certificate, const vidicon_key *key);

/// Whether the key of the issuer has signed the certificate.
bool vidicon_certificate_is_signed_by(vidicon_certificate *certificate, const vidicon_certificate *issuer);

/// Whether the certificate is that of an authority for end entities alone: critical basic constraints with a path length of 0, §4.2.1.9,
/// and no key usage but keyCertSign, §4.2.1.3.
bool vidicon_certificate_issues_end_entities(const vidicon_certificate *certificate);

/// A list of general names, §4.2.1.6.
typedef struct stack_st_GENERAL_NAME vidicon_names;

typedef enum {
  /// iPAddress: in a certificate 4 or 16 bytes, in name constraints with a mask behind them.
  VIDICON_NAME_ADDRESS,
  /// dNSName, without a zero at the end.
  VIDICON_NAME_DNS,
  /// All others, without bytes.
  VIDICON_NAME_OTHER,
} vidicon_name_kind;

typedef struct {
  vidicon_name_kind kind;
  const uint8_t *bytes;
  size_t count;
} vidicon_name;

/// Makes an empty list; NULL when memory is lacking.
vidicon_names *vidicon_names_create(void);
void vidicon_names_destroy(vidicon_names *names);
/// Appends an address or a DNS name.
bool vidicon_names_append(vidicon_names *names, vidicon_name name);
size_t vidicon_names_count(const vidicon_names *names);
/// The name at an index below the count, valid as long as the list.
vidicon_name vidicon_names_get(const vidicon_names *names, size_t index);

/// The subject alternative names; NULL without the extension, or where it is malformed.
vidicon_names *vidicon_certificate_alternatives(const vidicon_certificate *certificate);

/// The permitted subtrees of name constraints, §4.2.1.10; NULL where the extension is missing, malformed or not critical.
vidicon_names *vidicon_certificate_permitted(const vidicon_certificate *certificate);

/// Fields of a certificate to make.
typedef struct {
  /// Common name of the subject, UTF-8.
  const uint8_t *common_name;
  size_t common_name_count;
  /// Validity in seconds since 1970.
  int64_t not_before;
  int64_t not_after;
  /// Permitted subtrees of an authority, alternative names of a server.
  const vidicon_names *names;
} vidicon_certificate_fields;

/// Makes the certificate of an authority for servers, signed with its own key by ECDSA and SHA-256; NULL on failure.
vidicon_certificate *vidicon_certificate_make_authority(vidicon_certificate_fields fields, vidicon_key *key);

/// Makes the certificate of a TLS server, signed with the issuer's key; NULL on failure.
vidicon_certificate *vidicon_certificate_make_server(vidicon_certificate_fields fields, vidicon_key *key,
                                                     const vidicon_certificate *issuer, vidicon_key *issuer_key);

#endif
