#include "PixelKernels.h"

#include <string.h>

typedef uint8_t lanes __attribute__((vector_size(16)));

static inline lanes load(const uint8_t *bytes) {
  lanes result;
  memcpy(&result, bytes, sizeof result);
  return result;
}

void vidicon_plasma_row(uint8_t *row, const uint8_t *across, const uint8_t *falling, const uint8_t *rising,
                        uint8_t offset, const uint32_t *palette, size_t width) {
  size_t x = 0;
  // Excludes the last pixel, since a store of four bytes extends one byte into the next pixel.
  for (; x + sizeof(lanes) < width; x += sizeof(lanes)) {
    lanes sum = load(across + x) + load(falling + x) + load(rising + x) + offset;
    uint64_t indices[sizeof(lanes) / 8];
    memcpy(indices, &sum, sizeof sum);
    for (size_t part = 0; part < sizeof(lanes) / 8; part++) {
      uint64_t eight = indices[part];
      for (int i = 0; i < 8; i++) {
        memcpy(row, &palette[eight & 0xFF], 4);
        row += 3;
        eight >>= 8;
      }
    }
  }
  for (; x < width; x++) {
    uint32_t color = palette[(uint8_t)(across[x] + falling[x] + rising[x] + offset)];
    row[0] = (uint8_t)color;
    row[1] = (uint8_t)(color >> 8);
    row[2] = (uint8_t)(color >> 16);
    row += 3;
  }
}
