#include "stun.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "srtp.h"

enum { header_length = 20, code_length = 20 };

static size_t append(uint8_t *message, size_t end, uint16_t type, const void *value, size_t length) {
  write_short(message + end, type);
  write_short(message + end + 2, length);
  memcpy(message + end + 4, value, length);
  memset(message + end + 4 + length, 0, -length & 3);
  return end + 4 + length + (-length & 3);
}

static uint32_t crc32(const uint8_t *bytes, size_t length) {
  uint32_t value = ~0u;
  for (size_t i = 0; i < length; i++) {
    value ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0xedb88320 : 0);
  }
  return ~value;
}

/// Appends MESSAGE-INTEGRITY and FINGERPRINT.
static size_t authenticate(uint8_t *message, size_t end, const char *password) {
  uint8_t word[4], code[code_length];
  // The length in the header includes the attribute that is computed.
  write_short(message + 2, end - header_length + 4 + code_length);
  unsigned count = 0;
  HMAC(EVP_sha1(), password, strlen(password), message, end, code, &count);
  end = append(message, end, 0x0008, code, code_length);
  write_short(message + 2, end - header_length + 8);
  write_word(word, crc32(message, end) ^ 0x5354554e);
  return append(message, end, 0x8028, word, 4);
}

size_t stun_check(uint8_t output[maximum_check_length], uint64_t transaction, const char *username, const char *password,
                  bool nominates) {
  memset(output, 0, header_length);
  output[1] = 1;
  write_word(output + 4, 0x2112a442);
  write_word(output + 12, transaction >> 32);
  write_word(output + 16, transaction);
  uint8_t word[4], role[8] = "sinksink";
  size_t end = append(output, header_length, 0x0006, username, strnlen(username, 150));
  // A peer-reflexive candidate of the first component, RFC 8445 §7.1.1.
  write_word(word, 110u << 24 | 65535 << 8 | 255);
  end = append(output, end, 0x0024, word, 4);
  end = append(output, end, 0x802a, role, sizeof role);
  if (nominates) end = append(output, end, 0x0025, "", 0);
  return authenticate(output, end, password);
}

size_t stun_answer(uint8_t output[maximum_check_length], const uint8_t *datagram, size_t length, const char *password) {
  if (length < header_length || read_short(datagram) != 0x0001 || read_word(datagram + 4) != 0x2112a442) return 0;
  memcpy(output, datagram, header_length);
  write_short(output, 0x0101);
  return authenticate(output, header_length, password);
}

bool stun_is_success(const uint8_t *datagram, size_t length) {
  return length >= header_length && read_short(datagram) == 0x0101 && read_word(datagram + 4) == 0x2112a442;
}
