#include "CCryptography.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

const uint8_t *vidicon_buffer_bytes(vidicon_buffer *buffer, size_t *count) {
  char *bytes = NULL;
  long length = BIO_get_mem_data(buffer, &bytes);
  *count = length > 0 ? (size_t)length : 0;
  return (const uint8_t *)bytes;
}

// A BIO in memory erases its bytes when it grows and when it is freed.
void vidicon_buffer_destroy(vidicon_buffer *buffer) { BIO_free(buffer); }

vidicon_key *vidicon_key_generate(void) { return EVP_EC_gen("P-256"); }

void vidicon_key_destroy(vidicon_key *key) { EVP_PKEY_free(key); }

vidicon_buffer *vidicon_key_pem(const vidicon_key *key) {
  BIO *bio = BIO_new(BIO_s_mem());
  if (bio != NULL && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1) return bio;
  BIO_free(bio);
  return NULL;
}

vidicon_buffer *vidicon_certificate_pem(const vidicon_certificate *certificate) {
  BIO *bio = BIO_new(BIO_s_mem());
  if (bio != NULL && PEM_write_bio_X509(bio, certificate) == 1) return bio;
  BIO_free(bio);
  return NULL;
}

vidicon_buffer *vidicon_certificate_der(const vidicon_certificate *certificate) {
  BIO *bio = BIO_new(BIO_s_mem());
  if (bio != NULL && i2d_X509_bio(bio, certificate) == 1) return bio;
  BIO_free(bio);
  return NULL;
}

/// Whether the label of a document is that of a key in PKCS #8, SEC 1 or PKCS #1.
static bool is_key(const char *label) {
  return strcmp(label, PEM_STRING_PKCS8INF) == 0 || strcmp(label, PEM_STRING_ECPRIVATEKEY) == 0 ||
         strcmp(label, PEM_STRING_RSA) == 0;
}

bool vidicon_pem_read(const uint8_t *text, size_t count, vidicon_key **key, vidicon_certificate **certificate) {
  BIO *bio = count > 0 && count <= INT_MAX ? BIO_new_mem_buf(text, (int)count) : NULL;
  if (bio == NULL) return false;
  EVP_PKEY *read_key = NULL;
  X509 *read_certificate = NULL;
  char *label = NULL, *header = NULL;
  unsigned char *document = NULL;
  long length = 0;
  bool is_read = true;
  ERR_clear_error();
  while (is_read && PEM_read_bio(bio, &label, &header, &document, &length) == 1) {
    const unsigned char *end = document;
    // Encrypted documents have a header.
    if (header[0] == 0 && key != NULL && read_key == NULL && is_key(label)) {
      read_key = d2i_AutoPrivateKey(NULL, &end, length);
      is_read = read_key != NULL;
    } else if (header[0] == 0 && certificate != NULL && read_certificate == NULL && strcmp(label, PEM_STRING_X509) == 0) {
      read_certificate = d2i_X509(NULL, &end, length);
      is_read = read_certificate != NULL && end == document + length;
    } else {
      is_read = false;
    }
    OPENSSL_free(label);
    OPENSSL_free(header);
    OPENSSL_clear_free(document, (size_t)length);
    if (is_read) ERR_clear_error();
  }
  // Without a further document, the end of the text is not a damaged one.
  is_read = is_read && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE && (key == NULL || read_key != NULL) &&
            (certificate == NULL || read_certificate != NULL);
  ERR_clear_error();
  BIO_free(bio);
  if (!is_read) {
    EVP_PKEY_free(read_key);
    X509_free(read_certificate);
    return false;
  }
  if (key != NULL) *key = read_key;
  if (certificate != NULL) *certificate = read_certificate;
  return true;
}
