#include "Drawing.h"

// The baseline variant runs on every processor of the architecture; the others are selected at run time.
void vidicon_draw_layer_baseline(const vidicon_canvas *canvas, const vidicon_layer *layer,
                                 const vidicon_placement *placement, const vidicon_area *area, uint32_t opacity);
#ifdef __x86_64__
void vidicon_draw_layer_avx2(const vidicon_canvas *canvas, const vidicon_layer *layer, const vidicon_placement *placement,
                             const vidicon_area *area, uint32_t opacity);
#endif

vidicon_layer_drawer vidicon_layer_drawer_at(size_t index) {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) {
    if (index == 0) return vidicon_draw_layer_avx2;
    index--;
  }
#endif
  return index == 0 ? vidicon_draw_layer_baseline : NULL;
}

void vidicon_draw_layer(const vidicon_canvas *canvas, const vidicon_layer *layer, const vidicon_placement *placement,
                        const vidicon_area *area, uint32_t opacity) {
  vidicon_layer_drawer_at(0)(canvas, layer, placement, area, opacity);
}
