#include "CCryptography.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

static OSSL_LIB_CTX *library;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void make_library(void) { library = OSSL_LIB_CTX_new(); }

/// A context with the algorithms of libcrypto's default provider. That of the process may have fewer of them by its configuration file: in
/// a system for FIPS neither MD5, which Digest logins need, nor scrypt. NULL, which is that of the process, when memory is lacking.
static OSSL_LIB_CTX *shared_library(void) {
  pthread_once(&library_once, make_library);
  return library;
}

const char *vidicon_failure(void) {
  const char *reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason;
}

void vidicon_erase(void *bytes, size_t count) {
  if (count > 0) OPENSSL_cleanse(bytes, count);
}

bool vidicon_is_equal(const void *first, const void *second, size_t count) {
  return count == 0 || CRYPTO_memcmp(first, second, count) == 0;
}

static const char *name_of(vidicon_hash_function function) {
  switch (function) {
    case VIDICON_MD5: return "MD5";
    case VIDICON_SHA1: return "SHA1";
    case VIDICON_SHA256: return "SHA256";
  }
  return NULL;
}

static size_t length_of(vidicon_hash_function function) {
  switch (function) {
    case VIDICON_MD5: return 16;
    case VIDICON_SHA1: return 20;
    case VIDICON_SHA256: return 32;
  }
  return 0;
}

bool vidicon_hash(vidicon_hash_function function, const uint8_t *message, size_t count, uint8_t *digest) {
  size_t length = 0;
  return EVP_Q_digest(shared_library(), name_of(function), NULL, message, count, digest, &length) == 1 &&
         length == length_of(function);
}

bool vidicon_hmac(vidicon_hash_function function, const uint8_t *key, size_t key_count, const uint8_t *message, size_t count,
                  uint8_t *code) {
  static const uint8_t empty[1];
  size_t length = 0;
  // A key without bytes is one too, but NULL means that the last one is used.
  return EVP_Q_mac(shared_library(), "HMAC", NULL, name_of(function), NULL, key_count == 0 ? empty : key, key_count, message, count,
                   code, length_of(function), &length) != NULL &&
         length == length_of(function);
}

bool vidicon_scrypt(const uint8_t *password, size_t password_count, const uint8_t *salt, size_t salt_count, uint64_t rounds,
                    uint64_t block_size, uint64_t parallelism, uint8_t *key, size_t key_count) {
  enum { MAXIMUM_MEMORY = 32 << 20 };
  bool is_derived = EVP_PBE_scrypt_ex((const char *)password, password_count, salt, salt_count, rounds, block_size, parallelism,
                                      MAXIMUM_MEMORY, key, key_count, shared_library(), NULL) == 1;
  if (!is_derived) ERR_clear_error();
  return is_derived;
}

bool vidicon_aes128_key_stream(const uint8_t *key, const uint8_t *counter, uint8_t *stream, size_t count) {
  if (count == 0) return true;
  if (count > INT_MAX) return false;
  EVP_CIPHER *algorithm = EVP_CIPHER_fetch(shared_library(), "AES-128-CTR", NULL);
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  int length = 0;
  // The key stream is the encryption of zeros.
  memset(stream, 0, count);
  bool is_written = algorithm != NULL && context != NULL &&
                    EVP_EncryptInit_ex2(context, algorithm, key, counter, NULL) == 1 &&
                    EVP_EncryptUpdate(context, stream, &length, stream, (int)count) == 1 && (size_t)length == count;
  EVP_CIPHER_CTX_free(context);
  EVP_CIPHER_free(algorithm);
  return is_written;
}
