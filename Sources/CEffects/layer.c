#include "Drawing.h"

#include <math.h>
#include <string.h>

typedef uint8_t bytes4 __attribute__((vector_size(4)));
typedef int32_t numbers4 __attribute__((vector_size(16)));

static inline numbers4 load(const uint8_t *pixel) {
  bytes4 bytes;
  memcpy(&bytes, pixel, 4);
  return __builtin_convertvector(bytes, numbers4);
}

// Pixels beyond the layer are transparent.
static inline numbers4 tap(const vidicon_layer *layer, ptrdiff_t x, ptrdiff_t y) {
  if (x < 0 || y < 0 || x >= layer->width || y >= layer->height) return (numbers4){0, 0, 0, 0};
  return load(layer->pixels + 4 * (y * layer->width + x));
}

// A layer between four pixels; places are in 65536ths.
static inline numbers4 between(const vidicon_layer *layer, int64_t u, int64_t v) {
  const ptrdiff_t x = (ptrdiff_t)(u >> 16), y = (ptrdiff_t)(v >> 16);
  const int32_t across = (int32_t)(u >> 8 & 255), down = (int32_t)(v >> 8 & 255);
  numbers4 a, b, c, d;
  if (x >= 0 && y >= 0 && x + 1 < layer->width && y + 1 < layer->height) {
    const uint8_t *first = layer->pixels + 4 * (y * layer->width + x);
    a = load(first), b = load(first + 4);
    first += 4 * layer->width;
    c = load(first), d = load(first + 4);
  } else {
    a = tap(layer, x, y), b = tap(layer, x + 1, y), c = tap(layer, x, y + 1), d = tap(layer, x + 1, y + 1);
  }
  const numbers4 upper = a * (256 - across) + b * across, lower = c * (256 - across) + d * across;
  return (upper * (256 - down) + lower * down + 32768) >> 16;
}

static inline uint8_t over(int32_t color, int32_t alpha, uint8_t below) {
  const int32_t rest = (255 - alpha) * below + 128;
  const int32_t value = color + ((rest + (rest >> 8)) >> 8);
  return value > 255 ? 255 : (uint8_t)value;
}

// Narrows a range of columns to those at which `start + x * step` lies between low and high.
static void narrow(double *from, double *to, double start, double step, double low, double high) {
  if (fabs(step) < 1e-9) {
    if (!(start > low && start < high)) *to = *from;
    return;
  }
  const double a = (low - start) / step, b = (high - start) / step;
  const double first = a < b ? a : b, last = a < b ? b : a;
  if (first > *from) *from = first;
  if (last < *to) *to = last;
}

void vidicon_draw_layer(const vidicon_canvas *canvas, const vidicon_layer *layer, const vidicon_placement *placement,
                        const vidicon_area *area, uint32_t opacity) {
  const vidicon_placement p = *placement;
  const vidicon_layer l = *layer;
  // Beyond these places are no numbers of 64 bits any more, and no picture anybody sees.
  const double values[] = {p.origin_x, p.origin_y, p.right_x, p.right_y, p.down_x, p.down_y};
  for (int index = 0; index < 6; index++) {
    if (!(fabs(values[index]) < 1e8)) return;
  }
  const int64_t right_u = (int64_t)(p.right_x * 65536.0), right_v = (int64_t)(p.right_y * 65536.0);
  const ptrdiff_t x_end = area->x + area->width, y_end = area->y + area->height;
  for (ptrdiff_t y = area->y; y < y_end; y += 2) {
    const ptrdiff_t rows = y + 1 < canvas->height ? 2 : 1;
    // The columns at which one of both rows meets the layer.
    double from = (double)x_end, to = (double)area->x;
    for (ptrdiff_t row = y; row < y + rows; row++) {
      double first = (double)area->x, last = (double)x_end;
      narrow(&first, &last, p.origin_x + (double)row * p.down_x, p.right_x, -1, (double)l.width);
      narrow(&first, &last, p.origin_y + (double)row * p.down_y, p.right_y, -1, (double)l.height);
      if (first < last) {
        from = first < from ? first : from;
        to = last > to ? last : to;
      }
    }
    if (from >= to) continue;
    ptrdiff_t x = ((ptrdiff_t)from - 1) & ~(ptrdiff_t)1;
    x = x < area->x ? area->x : x;
    const ptrdiff_t end = (ptrdiff_t)to + 2 < x_end ? (ptrdiff_t)to + 2 : x_end;
    int64_t u[2], v[2];
    for (ptrdiff_t row = 0; row < 2; row++) {
      u[row] = (int64_t)((p.origin_x + (double)x * p.right_x + (double)(y + row) * p.down_x) * 65536.0);
      v[row] = (int64_t)((p.origin_y + (double)x * p.right_y + (double)(y + row) * p.down_y) * 65536.0);
    }
    for (; x < end; x += 2) {
      const ptrdiff_t columns = x + 1 < canvas->width ? 2 : 1;
      numbers4 sum = {0, 0, 0, 0};
      for (ptrdiff_t row = 0; row < rows; row++) {
        uint8_t *luma = canvas->luma + (y + row) * canvas->luma_stride + x;
        for (ptrdiff_t column = 0; column < columns; column++) {
          numbers4 color = between(&l, u[row] + column * right_u, v[row] + column * right_v);
          color = color * (int32_t)opacity >> 8;
          sum += color;
          if (color[3]) luma[column] = over(color[0], color[3], luma[column]);
        }
        u[row] += 2 * right_u;
        v[row] += 2 * right_v;
      }
      if (!sum[3]) continue;
      const int32_t count = (int32_t)(rows * columns);
      sum = (sum + count / 2) / count;
      const ptrdiff_t place = y / 2 * canvas->chroma_stride + x / 2;
      canvas->cb[place] = over(sum[1], sum[3], canvas->cb[place]);
      canvas->cr[place] = over(sum[2], sum[3], canvas->cr[place]);
    }
  }
}

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
      const numbers4 sum = tap(&l, x, y) + tap(&l, x + 1, y) + tap(&l, x, y + 1) + tap(&l, x + 1, y + 1);
      const bytes4 mean = __builtin_convertvector((sum + 2) >> 2, bytes4);
      memcpy(target, &mean, 4);
    }
  }
}
