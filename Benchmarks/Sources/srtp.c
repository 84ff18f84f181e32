#include "srtp.h"

#include <string.h>

#include "rtsp.h"

/// Labels of RFC 3711 §4.3.1; those of the salts are two more than those of the keys.
enum { media_label = 0, control_label = 3 };

/// Bytes of the key stream whose counter block begins with the salt XOR a label.
static void derive(const uint8_t *key, const uint8_t *salt, uint8_t label, uint8_t *output, int length) {
  uint8_t block[32] = {0}, stream[32];
  memcpy(block, salt, 12);
  block[7] ^= label;
  // The salt of GCM is followed by zeros, RFC 7714 §11, and the counter of the block.
  memcpy(block + 16, block, 16);
  block[31] = 1;
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  int count = 0;
  if (EVP_EncryptInit_ex(context, EVP_aes_128_ecb(), NULL, key, NULL) != 1 ||
      EVP_EncryptUpdate(context, stream, &count, block, sizeof block) != 1)
    fail("AES failed");
  EVP_CIPHER_CTX_free(context);
  memcpy(output, stream, length);
}

static EVP_CIPHER_CTX *create(const uint8_t *key, const uint8_t *salt, uint8_t label, bool seals, uint8_t *session_salt) {
  uint8_t session_key[16];
  derive(key, salt, label, session_key, 16);
  derive(key, salt, label + 2, session_salt, 12);
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  if (EVP_CipherInit_ex(context, EVP_aes_128_gcm(), NULL, session_key, NULL, seals) != 1) fail("AES-GCM failed");
  return context;
}

void srtp_create(struct srtp *srtp, const uint8_t keys[exported_length], bool of_server, bool seals) {
  const uint8_t *key = keys + (of_server ? 16 : 0), *salt = keys + 32 + (of_server ? 12 : 0);
  srtp->media = create(key, salt, media_label, seals, srtp->media_salt);
  srtp->control = create(key, salt, control_label, seals, srtp->control_salt);
  srtp->control_index = 0;
}

void srtp_destroy(struct srtp *srtp) {
  EVP_CIPHER_CTX_free(srtp->media);
  EVP_CIPHER_CTX_free(srtp->control);
  memset(srtp, 0, sizeof *srtp);
}

/// The nonce: zeros, SSRC, index of 48 bits, XOR the salt, RFC 7714 §8.1 and §9.1.
static void make_nonce(uint8_t nonce[12], const uint8_t salt[12], const uint8_t *ssrc, uint64_t index) {
  memset(nonce, 0, 2);
  memcpy(nonce + 2, ssrc, 4);
  write_short(nonce + 6, index >> 32);
  write_word(nonce + 8, index);
  for (int i = 0; i < 12; i++) nonce[i] ^= salt[i];
}

static void seal(EVP_CIPHER_CTX *context, const uint8_t nonce[12], const uint8_t *header, int header_length,
                 const uint8_t *trailer, const uint8_t *input, int length, uint8_t *output) {
  int count = 0;
  bool is_sealed = EVP_EncryptInit_ex(context, NULL, NULL, NULL, nonce) == 1 &&
                   EVP_EncryptUpdate(context, NULL, &count, header, header_length) == 1 &&
                   (!trailer || EVP_EncryptUpdate(context, NULL, &count, trailer, 4) == 1) &&
                   EVP_EncryptUpdate(context, output, &count, input, length) == 1 &&
                   EVP_EncryptFinal_ex(context, output + length, &count) == 1 &&
                   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tag_length, output + length) == 1;
  if (!is_sealed) fail("AES-GCM failed");
}

/// Decrypts in place; the tag is behind the ciphertext.
static bool open_sealed(EVP_CIPHER_CTX *context, const uint8_t nonce[12], const uint8_t *header, int header_length,
                        const uint8_t *trailer, uint8_t *bytes, int length) {
  int count = 0;
  uint8_t rest[16];
  return EVP_DecryptInit_ex(context, NULL, NULL, NULL, nonce) == 1 &&
         EVP_DecryptUpdate(context, NULL, &count, header, header_length) == 1 &&
         (!trailer || EVP_DecryptUpdate(context, NULL, &count, trailer, 4) == 1) &&
         EVP_DecryptUpdate(context, bytes, &count, bytes, length) == 1 &&
         EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag_length, bytes + length) == 1 &&
         EVP_DecryptFinal_ex(context, rest, &count) == 1;
}

size_t srtp_seal(struct srtp *srtp, uint64_t index, const uint8_t *header, size_t header_length, const uint8_t *payload,
                 size_t length, uint8_t *output) {
  uint8_t nonce[12];
  make_nonce(nonce, srtp->media_salt, header + 8, index);
  memcpy(output, header, header_length);
  seal(srtp->media, nonce, header, header_length, NULL, payload, length, output + header_length);
  return header_length + length + tag_length;
}

ssize_t srtp_open(struct srtp *srtp, uint64_t index, uint8_t *packet, size_t length) {
  size_t unused, header_length = rtp_header_length(packet, length, 0, &unused);
  if (!header_length || length < header_length + tag_length) return -1;
  uint8_t nonce[12];
  make_nonce(nonce, srtp->media_salt, packet + 8, index);
  length -= tag_length;
  bool is_open = open_sealed(srtp->media, nonce, packet, header_length, NULL, packet + header_length, length - header_length);
  return is_open ? (ssize_t)length : -1;
}

size_t srtcp_seal(struct srtp *srtp, uint8_t *packet, size_t length) {
  uint8_t nonce[12], *trailer = packet + length + tag_length;
  uint32_t index = srtp->control_index++;
  write_word(trailer, 0x80000000 | index);
  make_nonce(nonce, srtp->control_salt, packet + 4, index);
  seal(srtp->control, nonce, packet, 8, trailer, packet + 8, length - 8, packet + 8);
  return length + control_overhead;
}

ssize_t srtcp_open(struct srtp *srtp, uint8_t *packet, size_t length) {
  if (length < 8 + control_overhead) return -1;
  uint8_t nonce[12], *trailer = packet + length - 4;
  make_nonce(nonce, srtp->control_salt, packet + 4, read_word(trailer) & 0x7fffffff);
  length -= control_overhead;
  return open_sealed(srtp->control, nonce, packet, 8, trailer, packet + 8, length - 8) ? (ssize_t)length : -1;
}

size_t rtp_header_length(const uint8_t *packet, size_t length, int identifier, size_t *transport_wide) {
  *transport_wide = 0;
  if (length < 12 || packet[0] >> 6 != 2) return 0;
  size_t end = 12 + 4 * (packet[0] & 15);
  if (!(packet[0] & 0x10)) return end <= length ? end : 0;
  if (length < end + 4) return 0;
  size_t position = end + 4;
  bool has_short_headers = read_short(packet + end) == 0xbede;
  end = position + 4 * read_short(packet + end + 2);
  if (end > length) return 0;
  // Headers of one byte, RFC 8285 §4.2: identifier, and length less one.
  while (identifier && has_short_headers && position + 1 < end) {
    int found = packet[position] >> 4;
    if (found == identifier && position + 3 <= end) *transport_wide = position + 1;
    position += found ? 2 + (packet[position] & 15) : 1;
  }
  return end;
}

void floor_keys(int viewer, uint8_t keys[exported_length]) {
  for (int i = 0; i < exported_length; i++) keys[i] = i * 7 + (viewer >> 8 * (i & 1));
}
