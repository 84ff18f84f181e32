#include "Drawing.h"

static inline float unit(float value) {
  return value > 0 ? (value < 1 ? value : 1) : 0;
}

void vidicon_shape(uint8_t *alpha, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t height,
                   const vidicon_placement *placement, int shape, float hardness, float opacity) {
  const vidicon_placement p = *placement;
  const float full = 255 * unit(opacity);
  for (ptrdiff_t y = 0; y < height; y++, alpha += stride) {
    const float row_u = p.origin_x + (float)y * p.down_x, row_v = p.origin_y + (float)y * p.down_y;
    for (ptrdiff_t x = 0; x < width; x++) {
      const float u = row_u + (float)x * p.right_x, v = row_v + (float)x * p.right_y;
      const float across = u * u, down = v * v;
      const float square = shape == vidicon_shape_oval ? across + down : across > down ? across : down;
      alpha[x] = (uint8_t)(full * unit(0.5F + (1 - square) * hardness) + 0.5F);
    }
  }
}

void vidicon_look_up(uint8_t *plane, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t height, const uint8_t *table) {
  for (ptrdiff_t y = 0; y < height; y++, plane += stride) {
    for (ptrdiff_t x = 0; x < width; x++) plane[x] = table[plane[x]];
  }
}
