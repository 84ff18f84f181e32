#ifndef VIDICON_CV4L2_H
#define VIDICON_CV4L2_H

// The Video4Linux calls needed for capture, as functions: Swift imports neither ioctl request numbers nor the unions in
// V4L2's structures. Single- and multi-planar devices have the same interface. Each function returns 0 or an errno,
// restarts calls interrupted by a signal, and zero-terminates strings of drivers. On systems without Video4Linux each
// returns ENODEV.

#include <stdbool.h>
#include <stdint.h>

/// Maximum number of memory planes of a buffer.
#define VIDICON_V4L2_PLANES 8

/// Capabilities of a device (VIDIOC_QUERYCAP).
typedef struct {
  char driver[17], card[33], bus[33];
  /// Whether the device captures video, and whether it uses the multi-planar API.
  bool captures, is_multi_planar;
  /// Whether the device supports streaming into mapped buffers.
  bool streams;
  /// Whether the device is a video output, converts frames (a codec, a scaler), or delivers metadata.
  bool is_output, is_memory_to_memory, is_metadata;
} vidicon_v4l2_capability;

/// Opens a device in non-blocking mode.
int vidicon_v4l2_open(const char *path, int *descriptor);
int vidicon_v4l2_query_capability(int descriptor, vidicon_v4l2_capability *capability);
int vidicon_v4l2_set_input(int descriptor, int input);
/// Gets the name of an input by index (VIDIOC_ENUMINPUT); EINVAL past the last.
int vidicon_v4l2_get_input_name(int descriptor, uint32_t index, char name[33]);

/// Gets the FourCC of a format by index (VIDIOC_ENUM_FMT); EINVAL past the last.
int vidicon_v4l2_get_format_at(int descriptor, bool is_multi_planar, uint32_t index, uint32_t *fourcc);

/// A frame size (minimum and maximum are then equal) or a range of sizes, in pixels (VIDIOC_ENUM_FRAMESIZES).
typedef struct {
  bool is_range;
  uint32_t min_width, max_width, width_step, min_height, max_height, height_step;
} vidicon_v4l2_sizes;

int vidicon_v4l2_get_sizes_at(int descriptor, uint32_t fourcc, uint32_t index, vidicon_v4l2_sizes *sizes);

/// A frame interval in seconds, or a range from minimum to maximum (VIDIOC_ENUM_FRAMEINTERVALS).
typedef struct {
  bool is_range;
  uint32_t min_numerator, min_denominator, max_numerator, max_denominator;
} vidicon_v4l2_intervals;

int vidicon_v4l2_get_intervals_at(int descriptor, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t index,
                                  vidicon_v4l2_intervals *intervals);

/// Pixel format, size and memory layout of frames (VIDIOC_S_FMT).
typedef struct {
  uint32_t fourcc, width, height;
  /// Interlacing (enum v4l2_field).
  uint32_t field;
  uint32_t colorspace, matrix, quantization;
  uint32_t plane_count;
  uint32_t bytes_per_line[VIDICON_V4L2_PLANES];
} vidicon_v4l2_format;

/// Sets FourCC, size and field, and returns the format that the driver has chosen.
int vidicon_v4l2_set_format(int descriptor, bool is_multi_planar, vidicon_v4l2_format *format);
/// Sets the frame interval in seconds (VIDIOC_S_PARM), and returns the one that the driver has chosen.
int vidicon_v4l2_set_interval(int descriptor, bool is_multi_planar, uint32_t *numerator, uint32_t *denominator);

/// One memory plane of a buffer: its length, `mmap` offset and range of captured bytes, all in bytes.
typedef struct {
  uint32_t length, map_offset, bytes_used, data_offset;
} vidicon_v4l2_plane;

/// A frame buffer and the properties of the frame in it.
typedef struct {
  uint32_t index, sequence;
  /// Whether the frame is damaged (V4L2_BUF_FLAG_ERROR).
  bool is_error;
  /// Capture time on CLOCK_MONOTONIC in nanoseconds; negative when the driver uses another clock.
  int64_t timestamp;
  uint32_t plane_count;
  vidicon_v4l2_plane planes[VIDICON_V4L2_PLANES];
} vidicon_v4l2_buffer;

/// Requests a number of buffers, and returns the number allocated (VIDIOC_REQBUFS); 0 frees them.
int vidicon_v4l2_request_buffers(int descriptor, bool is_multi_planar, uint32_t *count);
int vidicon_v4l2_query_buffer(int descriptor, bool is_multi_planar, uint32_t index, vidicon_v4l2_buffer *buffer);
/// Enqueues a buffer for the device to fill (VIDIOC_QBUF).
int vidicon_v4l2_queue_buffer(int descriptor, bool is_multi_planar, uint32_t index, uint32_t plane_count);
/// Dequeues a filled buffer (VIDIOC_DQBUF); EAGAIN when there is none.
int vidicon_v4l2_dequeue_buffer(int descriptor, bool is_multi_planar, vidicon_v4l2_buffer *buffer);
int vidicon_v4l2_set_streaming(int descriptor, bool is_multi_planar, bool is_on);

/// The type of a control's values.
enum vidicon_v4l2_control_kind {
  VIDICON_V4L2_OTHER,
  VIDICON_V4L2_INTEGER,
  VIDICON_V4L2_BOOLEAN,
  VIDICON_V4L2_MENU,
  VIDICON_V4L2_INTEGER_MENU,
  VIDICON_V4L2_BUTTON,
};

/// A control (VIDIOC_QUERY_EXT_CTRL).
typedef struct {
  uint32_t id;
  enum vidicon_v4l2_control_kind kind;
  char name[33];
  int64_t minimum, maximum, default_value;
  uint64_t step;
  bool is_disabled, is_read_only, is_write_only, is_inactive;
} vidicon_v4l2_control;

/// Gets the control with the lowest id above `id`; EINVAL past the last.
int vidicon_v4l2_get_control_after(int descriptor, uint32_t id, vidicon_v4l2_control *control);
/// Gets the name of a menu item, or the number of an integer menu item (VIDIOC_QUERYMENU); EINVAL for a gap.
int vidicon_v4l2_get_menu_item(int descriptor, uint32_t id, uint32_t index, char name[33], int64_t *number);
int vidicon_v4l2_get_control(int descriptor, uint32_t id, int64_t *value);
int vidicon_v4l2_set_control(int descriptor, uint32_t id, int64_t value);

/// V4L2_CID_CAMERA_ORIENTATION: 0 front, 1 back, 2 external.
extern const uint32_t vidicon_v4l2_camera_orientation;
/// V4L2_CID_CAMERA_SENSOR_ROTATION: counterclockwise rotation needed for upright display, in degrees.
extern const uint32_t vidicon_v4l2_sensor_rotation;
/// V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME.
extern const uint32_t vidicon_v4l2_force_keyframe;

#endif
