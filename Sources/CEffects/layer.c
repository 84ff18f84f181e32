#include "Drawing.h"

static inline uint8_t part(int32_t value, int32_t alpha) {
  const int32_t product = value * alpha + 128;
  return (uint8_t)((product + (product >> 8)) >> 8);
}

void vidicon_make_layer(uint8_t *layer, const uint8_t *rgba, size_t count, const int32_t matrix[9]) {
  for (size_t index = 0; index < count; index++, layer += 4, rgba += 4) {
    const int32_t r = rgba[0], g = rgba[1], b = rgba[2], alpha = rgba[3];
    layer[0] = part((matrix[0] * r + matrix[1] * g + matrix[2] * b + (16 << 16) + 32768) >> 16, alpha);
    layer[1] = part((matrix[3] * r + matrix[4] * g + matrix[5] * b + (128 << 16) + 32768) >> 16, alpha);
    layer[2] = part((matrix[6] * r + matrix[7] * g + matrix[8] * b + (128 << 16) + 32768) >> 16, alpha);
    layer[3] = (uint8_t)alpha;
  }
}

void vidicon_halve_layer(uint8_t *target, const vidicon_layer *layer) {
  const vidicon_layer l = *layer;
  for (ptrdiff_t y = 0; y < l.height; y += 2) {
    for (ptrdiff_t x = 0; x < l.width; x += 2, target += 4) {
      uint8_t zero[4] = {0, 0, 0, 0};
      const int has_right = x + 1 < l.width, has_below = y + 1 < l.height;
      const uint8_t *a = l.pixels + 4 * (y * l.width + x), *c = has_below ? a + 4 * l.width : zero;
      const uint8_t *b = has_right ? a + 4 : zero, *d = has_right && has_below ? c + 4 : zero;
      for (int part = 0; part < 4; part++) target[part] = (uint8_t)((a[part] + b[part] + c[part] + d[part] + 2) >> 2);
    }
  }
}
