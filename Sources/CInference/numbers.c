#include "InferenceKernels.h"

#include <string.h>

void vidicon_halves_to_floats(float *floats, const void *halves, size_t count) {
  const unsigned char *bytes = halves;
  for (size_t i = 0; i < count; i++) {
    const uint32_t half = (uint32_t)bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8;
    const uint32_t sign = (half & 0x8000) << 16;
    // The shifted exponent lacks a bias of 127 - 15; a multiplication adds it exactly, also to subnormal numbers.
    uint32_t bits = (half & 0x7FFF) << 13;
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    magnitude *= 0x1p112F;
    memcpy(&bits, &magnitude, sizeof bits);
    // Infinity and NaN.
    if ((half & 0x7C00) == 0x7C00) bits = 0x7F800000 | (half & 0x03FF) << 13;
    bits |= sign;
    memcpy(&floats[i], &bits, sizeof bits);
  }
}

void vidicon_bytes_to_floats(float *floats, const uint8_t *bytes, size_t count, float scale, float offset) {
  for (size_t i = 0; i < count; i++) floats[i] = scale * (float)bytes[i] + offset;
}
