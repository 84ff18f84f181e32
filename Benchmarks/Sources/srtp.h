// SRTP and SRTCP with AES-128-GCM (RFC 3711, RFC 7714), for the WebRTC sink and floor.
#ifndef SRTP_H
#define SRTP_H

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Lengths in bytes: exported_length is that of the keys of both sides, RFC 5764 §4.2; control_overhead is a tag with E and index.
enum { tag_length = 16, exported_length = 2 * (16 + 12), control_overhead = tag_length + 4 };

/// One direction of a session.
struct srtp {
  EVP_CIPHER_CTX *media, *control;
  uint8_t media_salt[12], control_salt[12];
  /// Index of the next SRTCP packet that is sealed.
  uint32_t control_index;
};

/// Derives the session keys of one side from exported keying material.
void srtp_create(struct srtp *srtp, const uint8_t keys[exported_length], bool of_server, bool seals);
void srtp_destroy(struct srtp *srtp);

/// Writes header, ciphertext and tag; returns their length. index: rollover counter and sequence number.
size_t srtp_seal(struct srtp *srtp, uint64_t index, const uint8_t *header, size_t header_length, const uint8_t *payload,
                 size_t length, uint8_t *output);

/// Decrypts a packet in place; returns its length without the tag, -1 when it is not authentic.
ssize_t srtp_open(struct srtp *srtp, uint64_t index, uint8_t *packet, size_t length);

/// Seals a compound packet in place, behind which control_overhead bytes are free; returns the new length.
size_t srtcp_seal(struct srtp *srtp, uint8_t *packet, size_t length);

/// Decrypts a compound packet in place; returns its length, -1 when it is not authentic.
ssize_t srtcp_open(struct srtp *srtp, uint8_t *packet, size_t length);

/// Length of the header of an RTP packet with its extension, 0 when it is malformed. transport_wide: set to the offset of the number
/// with an extension identifier, 0 without one.
size_t rtp_header_length(const uint8_t *packet, size_t length, int identifier, size_t *transport_wide);

/// Keys that the sink and the floor agree on without a handshake.
void floor_keys(int viewer, uint8_t keys[exported_length]);

static inline uint16_t read_short(const uint8_t *bytes) { return (uint16_t)(bytes[0] << 8 | bytes[1]); }
static inline uint32_t read_word(const uint8_t *bytes) { return (uint32_t)read_short(bytes) << 16 | read_short(bytes + 2); }
static inline void write_short(uint8_t *bytes, uint16_t value) {
  bytes[0] = value >> 8;
  bytes[1] = value;
}
static inline void write_word(uint8_t *bytes, uint32_t value) {
  write_short(bytes, value >> 16);
  write_short(bytes + 2, value);
}

#endif
