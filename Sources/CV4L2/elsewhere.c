#ifndef __linux__

// Stubs for systems without Video4Linux: each call fails with ENODEV.

#include "CV4L2.h"

#include <errno.h>

const uint32_t vidicon_v4l2_camera_orientation = 0;
const uint32_t vidicon_v4l2_sensor_rotation = 0;
const uint32_t vidicon_v4l2_force_keyframe = 0;

int vidicon_v4l2_open(const char *path, int *descriptor) { return ENODEV; }
int vidicon_v4l2_query_capability(int descriptor, vidicon_v4l2_capability *capability) { return ENODEV; }
int vidicon_v4l2_set_input(int descriptor, int input) { return ENODEV; }
int vidicon_v4l2_get_input_name(int descriptor, uint32_t index, char name[33]) { return ENODEV; }
int vidicon_v4l2_get_format_at(int descriptor, bool is_multi_planar, uint32_t index, uint32_t *fourcc) {
  return ENODEV;
}
int vidicon_v4l2_get_sizes_at(int descriptor, uint32_t fourcc, uint32_t index, vidicon_v4l2_sizes *sizes) {
  return ENODEV;
}
int vidicon_v4l2_get_intervals_at(int descriptor, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t index,
                                  vidicon_v4l2_intervals *intervals) {
  return ENODEV;
}
int vidicon_v4l2_set_format(int descriptor, bool is_multi_planar, vidicon_v4l2_format *format) { return ENODEV; }
int vidicon_v4l2_set_interval(int descriptor, bool is_multi_planar, uint32_t *numerator, uint32_t *denominator) {
  return ENODEV;
}
int vidicon_v4l2_request_buffers(int descriptor, bool is_multi_planar, uint32_t *count) { return ENODEV; }
int vidicon_v4l2_query_buffer(int descriptor, bool is_multi_planar, uint32_t index, vidicon_v4l2_buffer *buffer) {
  return ENODEV;
}
int vidicon_v4l2_queue_buffer(int descriptor, bool is_multi_planar, uint32_t index, uint32_t plane_count) {
  return ENODEV;
}
int vidicon_v4l2_dequeue_buffer(int descriptor, bool is_multi_planar, vidicon_v4l2_buffer *buffer) { return ENODEV; }
int vidicon_v4l2_set_streaming(int descriptor, bool is_multi_planar, bool is_on) { return ENODEV; }
int vidicon_v4l2_get_control_after(int descriptor, uint32_t id, vidicon_v4l2_control *control) { return ENODEV; }
int vidicon_v4l2_get_menu_item(int descriptor, uint32_t id, uint32_t index, char name[33], int64_t *number) {
  return ENODEV;
}
int vidicon_v4l2_get_control(int descriptor, uint32_t id, int64_t *value) { return ENODEV; }
int vidicon_v4l2_set_control(int descriptor, uint32_t id, int64_t value) { return ENODEV; }

#endif
