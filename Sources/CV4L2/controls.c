#ifdef __linux__

#include "CV4L2.h"

#include <errno.h>
#include <linux/videodev2.h>
#include <string.h>

#include "call.h"

// The first two identifiers are missing from the headers of Linux before 5.9 and 5.10.
const uint32_t vidicon_v4l2_camera_orientation = V4L2_CID_CAMERA_CLASS_BASE + 34;
const uint32_t vidicon_v4l2_sensor_rotation = V4L2_CID_CAMERA_CLASS_BASE + 35;
const uint32_t vidicon_v4l2_force_keyframe = V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME;

static enum vidicon_v4l2_control_kind kind_of(uint32_t type) {
  switch (type) {
  case V4L2_CTRL_TYPE_INTEGER:
  case V4L2_CTRL_TYPE_INTEGER64: return VIDICON_V4L2_INTEGER;
  case V4L2_CTRL_TYPE_BOOLEAN: return VIDICON_V4L2_BOOLEAN;
  case V4L2_CTRL_TYPE_MENU: return VIDICON_V4L2_MENU;
  case V4L2_CTRL_TYPE_INTEGER_MENU: return VIDICON_V4L2_INTEGER_MENU;
  case V4L2_CTRL_TYPE_BUTTON: return VIDICON_V4L2_BUTTON;
  default: return VIDICON_V4L2_OTHER;
  }
}

static void set_flags(vidicon_v4l2_control *control, uint32_t flags) {
  control->is_disabled = flags & V4L2_CTRL_FLAG_DISABLED;
  control->is_read_only = flags & V4L2_CTRL_FLAG_READ_ONLY;
  control->is_write_only = flags & V4L2_CTRL_FLAG_WRITE_ONLY;
  control->is_inactive = flags & V4L2_CTRL_FLAG_INACTIVE;
}

int vidicon_v4l2_get_control_after(int descriptor, uint32_t id, vidicon_v4l2_control *control) {
  memset(control, 0, sizeof *control);
  struct v4l2_query_ext_ctrl query = {.id = id | V4L2_CTRL_FLAG_NEXT_CTRL};
  int error = vidicon_v4l2_call(descriptor, VIDIOC_QUERY_EXT_CTRL, &query);
  if (!error) {
    control->id = query.id;
    control->kind = kind_of(query.type);
    vidicon_v4l2_copy_text(control->name, query.name);
    control->minimum = query.minimum;
    control->maximum = query.maximum;
    control->default_value = query.default_value;
    control->step = query.step;
    set_flags(control, query.flags);
    return 0;
  }
  if (error != ENOTTY) return error;
  // Kernels before Linux 3.17.
  struct v4l2_queryctrl old = {.id = id | V4L2_CTRL_FLAG_NEXT_CTRL};
  error = vidicon_v4l2_call(descriptor, VIDIOC_QUERYCTRL, &old);
  if (error) return error;
  control->id = old.id;
  control->kind = kind_of(old.type);
  vidicon_v4l2_copy_text(control->name, old.name);
  control->minimum = old.minimum;
  control->maximum = old.maximum;
  control->default_value = old.default_value;
  control->step = old.step > 0 ? (uint64_t)old.step : 1;
  set_flags(control, old.flags);
  return 0;
}

int vidicon_v4l2_get_menu_item(int descriptor, uint32_t id, uint32_t index, char name[33], int64_t *number) {
  struct v4l2_querymenu item = {.id = id, .index = index};
  int error = vidicon_v4l2_call(descriptor, VIDIOC_QUERYMENU, &item);
  if (error) return error;
  vidicon_v4l2_copy_text(name, item.name);
  memcpy(number, item.name, sizeof *number);
  return 0;
}

/// Whether a control has 64 bits, so that its value is in `value64`.
static bool is_wide(int descriptor, uint32_t id) {
  struct v4l2_query_ext_ctrl query = {.id = id};
  return !vidicon_v4l2_call(descriptor, VIDIOC_QUERY_EXT_CTRL, &query) && query.type == V4L2_CTRL_TYPE_INTEGER64;
}

int vidicon_v4l2_get_control(int descriptor, uint32_t id, int64_t *value) {
  struct v4l2_ext_control control = {.id = id};
  struct v4l2_ext_controls controls = {.which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
  int error = vidicon_v4l2_call(descriptor, VIDIOC_G_EXT_CTRLS, &controls);
  if (!error) {
    *value = is_wide(descriptor, id) ? control.value64 : control.value;
    return 0;
  }
  struct v4l2_control old = {.id = id};
  error = vidicon_v4l2_call(descriptor, VIDIOC_G_CTRL, &old);
  *value = old.value;
  return error;
}

int vidicon_v4l2_set_control(int descriptor, uint32_t id, int64_t value) {
  struct v4l2_ext_control control = {.id = id};
  struct v4l2_ext_controls controls = {.which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
  if (is_wide(descriptor, id)) {
    control.value64 = value;
  } else if (value < INT32_MIN || value > INT32_MAX) {
    return ERANGE;
  } else {
    control.value = (int32_t)value;
  }
  int error = vidicon_v4l2_call(descriptor, VIDIOC_S_EXT_CTRLS, &controls);
  if (error != ENOTTY && error != EINVAL) return error;
  struct v4l2_control old = {.id = id, .value = (int32_t)value};
  return vidicon_v4l2_call(descriptor, VIDIOC_S_CTRL, &old);
}

#endif
