#ifndef VIDICON_PIXEL_KERNELS_H
#define VIDICON_PIXEL_KERNELS_H

// Loops over every pixel of a generated picture. They are in C for the sake of debug builds: there a loop in Swift takes
// so long that tests with live pictures would miss their frames.

#include <stddef.h>
#include <stdint.h>

/// Draws one row of packed red, green, blue: pixel x is
/// `palette[(across[x] + falling[x] + rising[x] + offset) mod 256]`.
///
/// @param row     `width` × 3 bytes are written, none beyond.
/// @param across  `width` bytes, as are `falling` and `rising`.
/// @param palette 256 colours, red in the lowest byte, then green and blue.
void vidicon_plasma_row(uint8_t *row, const uint8_t *across, const uint8_t *falling, const uint8_t *rising,
                        uint8_t offset, const uint32_t *palette, size_t width);

/// The state of ``vidicon_noise_fill``: no word may be zero.
typedef struct {
  uint64_t words[4];
} vidicon_noise_state;

/// Fills `count` bytes with random ones: four xorshift64 generators side by side (Marsaglia 2003, 13-7-17).
void vidicon_noise_fill(uint8_t *bytes, size_t count, vidicon_noise_state *state);

#endif
