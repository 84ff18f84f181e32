#pragma once

#include <stddef.h>
#include <stdint.h>

// libsrtp 2 as another implementation of SRTP for tests: loaded when a test needs it, so that building the tests does
// not need it.

// One direction of a session, with the keys of one profile.
struct csrtp;

// Creates a session with the master key and salt; NULL without libsrtp, or when it refuses the key.
//
// profile: 1 for SRTP_AES128_CM_HMAC_SHA1_80, 7 for SRTP_AEAD_AES_128_GCM.
// seals: whether it seals, or opens.
struct csrtp *_Nullable csrtp_create(int profile, const uint8_t *_Nonnull key, size_t length, int seals);
void csrtp_free(struct csrtp *_Nonnull session);

// Seals or opens a packet in place. The buffer has room for 64 bytes more than *length. Returns 0, or the error of libsrtp.
int csrtp_process(struct csrtp *_Nonnull session, int is_control, uint8_t *_Nonnull packet, int *_Nonnull length);
