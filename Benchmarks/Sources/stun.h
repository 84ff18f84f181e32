// Connectivity checks of a controlling ICE agent (RFC 8445, RFC 8489).
#ifndef STUN_H
#define STUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { maximum_check_length = 256 };

/// Writes a Binding request with MESSAGE-INTEGRITY and FINGERPRINT; returns its length.
///
/// transaction: the last bytes of the transaction ID. password: that of the server.
size_t stun_check(uint8_t output[maximum_check_length], uint64_t transaction, const char *username, const char *password,
                  bool nominates);

/// Writes the success response to a Binding request, with MESSAGE-INTEGRITY and FINGERPRINT; returns its length, 0 for a datagram
/// that is no request.
///
/// password: our own, of the offer.
size_t stun_answer(uint8_t output[maximum_check_length], const uint8_t *datagram, size_t length, const char *password);

/// Whether a datagram is the response to a Binding request that succeeded.
bool stun_is_success(const uint8_t *datagram, size_t length);

#endif
