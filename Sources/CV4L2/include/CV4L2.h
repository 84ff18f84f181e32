#ifndef VIDICON_CV4L2_H
#define VIDICON_CV4L2_H

// The calls of video4linux that capture takes, as functions: Swift can read neither the numbers of its ioctls nor the
// unions in its structures. Single- and multi-planar devices look the same from here. Each function returns 0 or an
// errno, repeats what a signal has interrupted, and keeps texts that devices give ended by a zero. On systems without
// video4linux each returns ENODEV.

#include <stdbool.h>
#include <stdint.h>

/// The most memory planes of a picture.
#define VIDICON_V4L2_PLANES 8

/// What a device says of itself (VIDIOC_QUERYCAP).
typedef struct {
  char driver[17], card[33], bus[33];
  /// Whether it captures pictures, and through the multi-planar calls.
  bool captures, is_multi_planar;
  /// Whether it captures into mapped memory.
  bool streams;
  /// Whether it shows pictures, or turns pictures into others (a codec, a scaler), or gives what describes pictures.
  bool is_output, is_memory_to_memory, is_metadata;
} vidicon_v4l2_capability;

/// Opens a device so that no call waits, also not for a device that is no camera.
int vidicon_v4l2_open(const char *path, int *descriptor);
int vidicon_v4l2_query_capability(int descriptor, vidicon_v4l2_capability *capability);
int vidicon_v4l2_set_input(int descriptor, int input);
/// The name of the input of an index (VIDIOC_ENUMINPUT); EINVAL past the last.
int vidicon_v4l2_get_input_name(int descriptor, uint32_t index, char name[33]);

/// The FourCC of the format of an index (VIDIOC_ENUM_FMT); EINVAL past the last.
int vidicon_v4l2_get_format_at(int descriptor, bool is_multi_planar, uint32_t index, uint32_t *fourcc);

/// A size (least and most are then the same), or a range of sizes (VIDIOC_ENUM_FRAMESIZES).
typedef struct {
  bool is_range;
  uint32_t least_width, most_width, width_step, least_height, most_height, height_step;
} vidicon_v4l2_sizes;

int vidicon_v4l2_get_sizes_at(int descriptor, uint32_t fourcc, uint32_t index, vidicon_v4l2_sizes *sizes);

/// An interval between pictures in seconds, or a range from the shortest to the longest (VIDIOC_ENUM_FRAMEINTERVALS).
typedef struct {
  bool is_range;
  uint32_t shortest_numerator, shortest_denominator, longest_numerator, longest_denominator;
} vidicon_v4l2_intervals;

int vidicon_v4l2_get_intervals_at(int descriptor, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t index,
                                  vidicon_v4l2_intervals *intervals);

/// How pictures lie in memory (VIDIOC_S_FMT).
typedef struct {
  uint32_t fourcc, width, height;
  uint32_t colorspace, matrix, quantization;
  uint32_t plane_count;
  uint32_t bytes_per_line[VIDICON_V4L2_PLANES];
} vidicon_v4l2_format;

/// Sets FourCC and size, and reads what became of it.
int vidicon_v4l2_set_format(int descriptor, bool is_multi_planar, vidicon_v4l2_format *format);
/// Sets the interval between pictures in seconds (VIDIOC_S_PARM), and reads what became of it.
int vidicon_v4l2_set_interval(int descriptor, bool is_multi_planar, uint32_t *numerator, uint32_t *denominator);

/// One of the memories of a buffer: how long it is, where to map it, and which of its bytes hold data.
typedef struct {
  uint32_t length, map_offset, bytes_used, data_offset;
} vidicon_v4l2_plane;

/// One picture's memory, and what the device wrote into it.
typedef struct {
  uint32_t index, sequence;
  /// The device could not fill it rightly.
  bool is_error;
  /// On the monotonic clock, in nanoseconds; negative when the time is not of that clock.
  int64_t timestamp;
  uint32_t plane_count;
  vidicon_v4l2_plane planes[VIDICON_V4L2_PLANES];
} vidicon_v4l2_buffer;

/// Asks for a number of buffers, and reads how many there are; 0 frees them.
int vidicon_v4l2_request_buffers(int descriptor, bool is_multi_planar, uint32_t *count);
int vidicon_v4l2_query_buffer(int descriptor, bool is_multi_planar, uint32_t index, vidicon_v4l2_buffer *buffer);
/// Gives a buffer to the device.
int vidicon_v4l2_queue_buffer(int descriptor, bool is_multi_planar, uint32_t index, uint32_t plane_count);
/// Takes a filled buffer; EAGAIN when there is none.
int vidicon_v4l2_dequeue_buffer(int descriptor, bool is_multi_planar, vidicon_v4l2_buffer *buffer);
int vidicon_v4l2_set_streaming(int descriptor, bool is_multi_planar, bool is_on);

/// What a control's values are.
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

/// The control with the lowest id above one; EINVAL past the last.
int vidicon_v4l2_get_control_after(int descriptor, uint32_t id, vidicon_v4l2_control *control);
/// The name of a menu's choice, or the number of an integer menu's; EINVAL where the menu has none.
int vidicon_v4l2_get_menu_item(int descriptor, uint32_t id, uint32_t index, char name[33], int64_t *number);
int vidicon_v4l2_get_control(int descriptor, uint32_t id, int64_t *value);
int vidicon_v4l2_set_control(int descriptor, uint32_t id, int64_t value);

/// V4L2_CID_CAMERA_ORIENTATION: 0 front, 1 back, 2 external.
extern const uint32_t vidicon_v4l2_camera_orientation;
/// V4L2_CID_CAMERA_SENSOR_ROTATION: how far pictures are to be turned anticlockwise, in degrees.
extern const uint32_t vidicon_v4l2_sensor_rotation;
/// V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME.
extern const uint32_t vidicon_v4l2_force_keyframe;

#endif
