#include "CDTLS.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdlib.h>

struct vidicon_srtp_cipher {
  EVP_CIPHER_CTX *cipher;
  // NULL with GCM.
  EVP_MAC_CTX *authentication;
};

static vidicon_srtp_cipher *create(const EVP_CIPHER *algorithm, const uint8_t *key, bool encrypts) {
  vidicon_srtp_cipher *cipher = calloc(1, sizeof *cipher);
  if (cipher == NULL) return NULL;
  cipher->cipher = EVP_CIPHER_CTX_new();
  if (cipher->cipher == NULL || EVP_CipherInit_ex(cipher->cipher, algorithm, NULL, key, NULL, encrypts) != 1) {
    vidicon_srtp_cipher_destroy(cipher);
    return NULL;
  }
  return cipher;
}

vidicon_srtp_cipher *vidicon_srtp_gcm_create(const uint8_t *key, bool seals) {
  return create(EVP_aes_128_gcm(), key, seals);
}

vidicon_srtp_cipher *vidicon_srtp_cm_create(const uint8_t *key, const uint8_t *authentication_key) {
  // Counter mode encrypts and decrypts alike.
  vidicon_srtp_cipher *cipher = create(EVP_aes_128_ctr(), key, true);
  if (cipher == NULL) return NULL;
  EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
  cipher->authentication = algorithm == NULL ? NULL : EVP_MAC_CTX_new(algorithm);
  EVP_MAC_free(algorithm);
  char digest[] = "SHA1";
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  if (cipher->authentication == NULL ||
      EVP_MAC_init(cipher->authentication, authentication_key, 20, parameters) != 1) {
    vidicon_srtp_cipher_destroy(cipher);
    return NULL;
  }
  return cipher;
}

void vidicon_srtp_cipher_destroy(vidicon_srtp_cipher *cipher) {
  if (cipher == NULL) return;
  EVP_CIPHER_CTX_free(cipher->cipher);
  EVP_MAC_CTX_free(cipher->authentication);
  free(cipher);
}

static bool process(EVP_CIPHER_CTX *context, const uint8_t *input, size_t length, uint8_t *output) {
  int count = 0;
  return length == 0 || EVP_CipherUpdate(context, output, &count, input, (int)length) == 1;
}

/// Writes HMAC-SHA1 (20 bytes) of header, ciphertext and trailer.
static bool authenticate(EVP_MAC_CTX *context, vidicon_srtp_associated associated, const uint8_t *ciphertext,
                         size_t length, uint8_t *code) {
  size_t count = 0;
  // Without a key the context begins again with its own.
  return EVP_MAC_init(context, NULL, 0, NULL) == 1 &&
         EVP_MAC_update(context, associated.header, associated.header_length) == 1 &&
         EVP_MAC_update(context, ciphertext, length) == 1 &&
         EVP_MAC_update(context, associated.trailer, associated.trailer_length) == 1 &&
         EVP_MAC_final(context, code, &count, 20) == 1 && count == 20;
}

static bool associate(EVP_CIPHER_CTX *context, vidicon_srtp_associated associated) {
  int count = 0;
  return EVP_CipherUpdate(context, NULL, &count, associated.header, (int)associated.header_length) == 1 &&
         (associated.trailer_length == 0 ||
          EVP_CipherUpdate(context, NULL, &count, associated.trailer, (int)associated.trailer_length) == 1);
}

bool vidicon_srtp_seal(vidicon_srtp_cipher *cipher, const uint8_t *nonce, vidicon_srtp_associated associated,
                       const uint8_t *input, size_t length, uint8_t *output, uint8_t *tag, size_t tag_length) {
  EVP_CIPHER_CTX *context = cipher->cipher;
  if (EVP_CipherInit_ex(context, NULL, NULL, NULL, nonce, -1) != 1) return false;
  if (cipher->authentication == NULL) {
    uint8_t rest[16];
    int count = 0;
    return associate(context, associated) && process(context, input, length, output) &&
           EVP_CipherFinal_ex(context, rest, &count) == 1 &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, (int)tag_length, tag) == 1;
  }
  uint8_t code[20];
  if (tag_length > sizeof code || !process(context, input, length, output) ||
      !authenticate(cipher->authentication, associated, output, length, code))
    return false;
  for (size_t index = 0; index < tag_length; index++) tag[index] = code[index];
  return true;
}

bool vidicon_srtp_open(vidicon_srtp_cipher *cipher, const uint8_t *nonce, vidicon_srtp_associated associated,
                       const uint8_t *input, size_t length, uint8_t *output, const uint8_t *tag, size_t tag_length) {
  EVP_CIPHER_CTX *context = cipher->cipher;
  bool is_opened;
  if (cipher->authentication == NULL) {
    uint8_t rest[16];
    int count = 0;
    is_opened = EVP_CipherInit_ex(context, NULL, NULL, NULL, nonce, -1) == 1 && associate(context, associated) &&
                process(context, input, length, output) &&
                // OpenSSL does not write to the tag.
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)tag_length, (void *)tag) == 1 &&
                EVP_CipherFinal_ex(context, rest, &count) == 1;
  } else {
    uint8_t code[20];
    is_opened = tag_length <= sizeof code &&
                authenticate(cipher->authentication, associated, input, length, code) &&
                CRYPTO_memcmp(code, tag, tag_length) == 0 &&
                EVP_CipherInit_ex(context, NULL, NULL, NULL, nonce, -1) == 1 &&
                process(context, input, length, output);
  }
  if (!is_opened) ERR_clear_error();
  return is_opened;
}
