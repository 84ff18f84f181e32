// Simulated cameras: a library for LD_PRELOAD that implements the Video4Linux calls for some device nodes.
//
//   FAKE_CAMERA_0 … FAKE_CAMERA_3   one camera each, as KEY=VALUE;KEY=VALUE…
//
//   path=/dev/video0   card=Fake Camera   bus=usb-0000:00:14.0-1
//   kind=capture       or metadata, output, m2m, none (not a Video4Linux device), read (no streaming)
//   open=13            the errno of each open; format=, buffers=, start=: of S_FMT, REQBUFS, STREAMON
//   formats=YUYV 640x480,320x240 30,15|MJPG 32-640/16x32-480/8 5-30
//                      FourCC, sizes or a range with steps, rates or a range; uncompressed frames are drawn
//   planes=1           the multi-planar API
//   file=PATH          content of compressed formats: JPEG images, or H.264 with access unit delimiters, in sequence;
//                      H.264 restarts with a keyframe when one is requested; refuse=1 unless requests are refused
//   raw=PATH           frames of the first format, in sequence; the zoom and the exposure of controls=2 change those of YU12
//   lossless=1         frames that are not dequeued in time wait, as in a driver with many buffers
//   count=4            maximum number of buffers stride=64   padding of each row in bytes colorspace=7
//   lie=1              buffers have half the size of a frame
//   short=5, error=5, empty=5, lost=5, jump=5   failure of every fifth frame
//   corrupt=20         number of frames of an open after which every one is damaged; cure=1 until streaming is restarted,
//                      cure=2 until the camera is reopened  phantom=20  the same, and no buffer follows a readiness
//   field=7 weaves=1   the field that the driver sets whatever is requested; unless interlaced frames are
//   late=300           age of each frame's timestamp in milliseconds
//   speed=5000         speed of the USB connection in sysfs, in Mb/s     guard=1      no memory follows a mapping
//   clock=copy         timestamps without a clock after=10   number of frames after which none follow
//   unplug=1.5         seconds after the first STREAMON, once; replug=0.5 seconds later; elsewhere=/dev/video7 at this node
//   unplugs=3          number of disconnections, each that long after the STREAMON that follows the one before
//   vanish=20          number of calls after which the camera is disconnected
//   hang=3             duration of the tenth DQBUF in seconds  deaf=3    duration of each QUERYCAP in seconds
//   fail=5             number of frames of an open after which DQBUF fails; fails=1 for the first of these opens only
//   again=16           errno of each REQBUFS after such a failure
//   endless=1          endless enumerations                 controls=1   controls, see below       rotation=90 facing=0
//   controls=2         zoom and exposure too, in per cent
//
// As in the kernel, the file that requested buffers owns the camera until it requests none, or is closed and has no mapping
// left: a mapping keeps the file open. Meanwhile other files get EBUSY.
//
//   shown=time         the squares show the milliseconds of the timestamp, within a minute, instead of the frame number
//
// Drawn frames: eight color bars, and above them the frame number in 16 black and white squares, most significant bit
// first.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { CAMERAS = 4, BUFFERS = 32, FORMATS = 8, SIZES = 16, RATES = 16, OPENS = 32, CONTROLS = 8, MAPPINGS = 256 };
// Indexes of controls.
enum { EXPOSURE = 2, FOCUS, AUTOMATIC_FOCUS, ZOOM, FACING, ROTATION };

struct format {
  uint32_t fourcc;
  bool is_range;
  unsigned sizes[SIZES][2], size_count; // Of a range: minimum, maximum, step.
  unsigned rates[RATES], rate_count;
  bool is_rate_range;
};

struct camera {
  const char *options;
  char path[64], elsewhere[64], card[32], bus[32], kind[16];
  struct format formats[FORMATS];
  unsigned format_count;
  uint8_t *file;
  uint8_t *raw;
  size_t raw_length;
  size_t *starts;
  unsigned piece_count;
  double streaming_since;
  int values[CONTROLS];
  unsigned owner; // The file that owns the buffers, or 0.
  unsigned failed_count, last_failed, call_count;
  unsigned stream_count; // Number of opens that have streamed.
  unsigned gone_count;   // Number of disconnections that are over.
};

// An open file of a camera.
struct opened {
  struct camera *camera;
  int descriptor, memory;
  unsigned file;
  bool is_on, was_gone;
  unsigned buffer_count, head, tail, queue[BUFFERS * 2];
  bool is_queued[BUFFERS];
  struct format *format;
  unsigned width, height, rate, sequence, taken, start_count;
  unsigned waiting; // Number of frames that are there besides the timer's, with the option "lossless".
  unsigned shown;  // Number in the squares of the next frame.
  unsigned stream; // Number of this open among those that have streamed.
  unsigned first; // Number of the frame with the start of the file.
};

// A mapping of a camera's memory.
struct mapping {
  struct camera *camera;
  unsigned file;
  void *start;
};

static struct camera cameras[CAMERAS];
static struct opened opens[OPENS];
static struct mapping mappings[MAPPINGS];
static unsigned file_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int fail(int number) {
  errno = number;
  return -1;
}

// Gets the text of an option; false when it is not set.
static bool option(const struct camera *camera, const char *key, char *text, size_t size) {
  size_t length = strlen(key);
  for (const char *at = camera->options; at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL) {
    if (strncmp(at, key, length) || at[length] != '=') continue;
    size_t count = strcspn(at + length + 1, ";");
    if (count >= size) count = size - 1;
    memcpy(text, at + length + 1, count);
    text[count] = 0;
    return true;
  }
  return false;
}

static double number(const struct camera *camera, const char *key) {
  char text[32];
  return option(camera, key, text, sizeof text) ? atof(text) : 0;
}

// Whether an option that spoils the frames of an open after a number applies now.
static bool is_spoiled(const struct opened *opened, const char *key) {
  unsigned after = (unsigned)number(opened->camera, key), cure = (unsigned)number(opened->camera, "cure");
  if (!after || !opened->is_on || opened->taken < after) return false;
  return !(cure == 1 && opened->start_count > 1) && !(cure == 2 && opened->stream > 1);
}

static bool is_every(const struct opened *opened, const char *key) {
  unsigned every = (unsigned)number(opened->camera, key);
  return every && opened->sequence % every == every - 1;
}

static void parse_format(struct format *format, char *text) {
  char sizes[256] = "", rates[128] = "";
  sscanf(text, "%4c %255s %127s", (char *)&format->fourcc, sizes, rates);
  unsigned a, b, c, d, e, f;
  if (sscanf(sizes, "%u-%u/%ux%u-%u/%u", &a, &b, &c, &d, &e, &f) == 6) {
    format->is_range = true;
    unsigned range[3][2] = {{a, d}, {b, e}, {c, f}};
    memcpy(format->sizes, range, sizeof range);
  } else {
    for (char *save, *size = strtok_r(sizes, ",", &save); size && format->size_count < SIZES;
         size = strtok_r(NULL, ",", &save))
      if (sscanf(size, "%ux%u", &format->sizes[format->size_count][0], &format->sizes[format->size_count][1]) == 2)
        format->size_count++;
  }
  if (sscanf(rates, "%u-%u", &format->rates[0], &format->rates[1]) == 2) {
    format->is_rate_range = true;
    return;
  }
  for (char *save, *rate = strtok_r(rates, ",", &save); rate && format->rate_count < RATES;
       rate = strtok_r(NULL, ",", &save))
    format->rates[format->rate_count++] = (unsigned)atoi(rate);
}

// Finds the offsets of the images (JPEG start markers) or access units (delimiters) of a file.
static void read_file(struct camera *camera, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return;
  fseek(file, 0, SEEK_END);
  size_t length = (size_t)ftell(file);
  rewind(file);
  camera->file = malloc(length);
  length = fread(camera->file, 1, length, file);
  fclose(file);
  camera->starts = malloc(sizeof *camera->starts * (length / 8 + 2));
  for (size_t i = 0; i + 4 < length; i++) {
    const uint8_t *at = camera->file + i;
    if ((at[0] == 0xff && at[1] == 0xd8 && at[2] == 0xff) || (!at[0] && !at[1] && !at[2] && at[3] == 1 && at[4] == 9))
      camera->starts[camera->piece_count++] = i;
  }
  camera->starts[camera->piece_count] = length;
}

static void read_raw(struct camera *camera, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return;
  fseek(file, 0, SEEK_END);
  camera->raw_length = (size_t)ftell(file);
  rewind(file);
  camera->raw = malloc(camera->raw_length);
  camera->raw_length = fread(camera->raw, 1, camera->raw_length, file);
  fclose(file);
}

__attribute__((constructor)) static void set_up(void) {
  for (int i = 0; i < CAMERAS; i++) {
    struct camera *camera = &cameras[i];
    char name[16], text[1024];
    snprintf(name, sizeof name, "FAKE_CAMERA_%d", i);
    camera->options = getenv(name);
    if (!camera->options) continue;
    if (!option(camera, "path", camera->path, sizeof camera->path)) snprintf(camera->path, 64, "/dev/video%d", i);
    if (!option(camera, "card", camera->card, sizeof camera->card)) strcpy(camera->card, "Fake Camera");
    if (!option(camera, "bus", camera->bus, sizeof camera->bus)) snprintf(camera->bus, 32, "usb-0000:00:14.0-%d", i + 1);
    if (!option(camera, "kind", camera->kind, sizeof camera->kind)) strcpy(camera->kind, "capture");
    option(camera, "elsewhere", camera->elsewhere, sizeof camera->elsewhere);
    if (option(camera, "file", text, sizeof text)) read_file(camera, text);
    if (option(camera, "raw", text, sizeof text)) read_raw(camera, text);
    if (!option(camera, "formats", text, sizeof text)) strcpy(text, "YUYV 320x240,640x480 30");
    for (char *save, *format = strtok_r(text, "|", &save); format && camera->format_count < FORMATS;
         format = strtok_r(NULL, "|", &save))
      parse_format(&camera->formats[camera->format_count++], format);
  }
}

static struct opened *find(int descriptor) {
  for (int i = 0; i < OPENS && descriptor >= 0; i++)
    if (opens[i].camera && opens[i].descriptor == descriptor) return &opens[i];
  return NULL;
}

// Seconds since the camera was disconnected; negative while it is connected.
static double gone_for(const struct camera *camera) {
  double unplug = number(camera, "unplug");
  return unplug && camera->streaming_since ? now() - camera->streaming_since - unplug : -1;
}

static bool is_gone(const struct camera *camera) {
  double replug = number(camera, "replug"), gone = gone_for(camera);
  if (number(camera, "vanish") && camera->call_count > number(camera, "vanish")) return true;
  return gone >= 0 && (!replug || gone < replug);
}

static const char *path_of(const struct camera *camera) {
  return gone_for(camera) >= 0 && camera->elsewhere[0] ? camera->elsewhere : camera->path;
}

// A file opened before the camera was disconnected stays disconnected.
static bool is_lost(struct opened *opened) {
  return opened->was_gone;
}

// A reconnected camera is another device, even while mappings of this one exist.
static void notice(struct opened *opened) {
  if (!is_gone(opened->camera)) return;
  opened->was_gone = true;
  opened->camera->owner = 0;
}

static bool is_owned_by_other(const struct opened *opened) {
  return opened->camera->owner && opened->camera->owner != opened->file;
}

// Releases the ownership when the owner is closed and no mapping is left.
static void let_go(struct camera *camera, unsigned file) {
  if (camera->owner != file) return;
  for (int i = 0; i < OPENS; i++)
    if (opens[i].camera == camera && opens[i].file == file) return;
  for (int i = 0; i < MAPPINGS; i++)
    if (mappings[i].camera == camera && mappings[i].file == file) return;
  camera->owner = 0;
}

static struct camera *camera_at(const char *path) {
  for (int i = 0; path && i < CAMERAS; i++)
    if (cameras[i].options && !strcmp(path, path_of(&cameras[i]))) return &cameras[i];
  return NULL;
}

static int open_camera(struct camera *camera, int flags) {
  if (is_gone(camera)) return fail(ENOENT);
  // Files open from before the disconnection delay the reconnection.
  for (int i = 0; i < OPENS; i++)
    if (opens[i].camera == camera && opens[i].was_gone) return fail(ENOENT);
  int error = (int)number(camera, "open");
  if (error) return fail(error);
  pthread_mutex_lock(&lock);
  int result = fail(EMFILE);
  for (int i = 0; i < OPENS; i++) {
    struct opened *opened = &opens[i];
    if (opened->camera) continue;
    result = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | (flags & O_NONBLOCK ? TFD_NONBLOCK : 0));
    if (result < 0) break;
    memset(opened, 0, sizeof *opened);
    struct format *format = &camera->formats[0];
    *opened = (struct opened){.camera = camera, .descriptor = result, .memory = -1, .file = ++file_count,
                              .format = format, .width = format->sizes[0][0], .height = format->sizes[0][1],
                              .rate = 30};
    break;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

static bool is_compressed(const struct format *format) {
  return format->fourcc == V4L2_PIX_FMT_MJPEG || format->fourcc == V4L2_PIX_FMT_H264;
}

// The planes of a drawn frame: bytes per group of pixels in a row, and rows of pixels per row of the plane.
struct plane {
  unsigned bytes, across, down;
  char samples[5]; // The component of each byte.
};

static int planes_of(uint32_t fourcc, struct plane planes[3]) {
  static const struct {
    uint32_t fourcc;
    struct plane planes[3];
    int count;
  } table[] = {
      {V4L2_PIX_FMT_YUYV, {{4, 2, 1, "yuyv"}}, 1},
      {V4L2_PIX_FMT_UYVY, {{4, 2, 1, "uyvy"}}, 1},
      {V4L2_PIX_FMT_YVYU, {{4, 2, 1, "yvyu"}}, 1},
      {V4L2_PIX_FMT_GREY, {{1, 1, 1, "y"}}, 1},
      {V4L2_PIX_FMT_Y16, {{2, 1, 1, "xy"}}, 1},
      {V4L2_PIX_FMT_RGB565, {{2, 1, 1, "xx"}}, 1},
      {V4L2_PIX_FMT_RGB24, {{3, 1, 1, "rgb"}}, 1},
      {V4L2_PIX_FMT_BGR24, {{3, 1, 1, "bgr"}}, 1},
      {V4L2_PIX_FMT_XBGR32, {{4, 1, 1, "bgrx"}}, 1},
      {V4L2_PIX_FMT_NV12, {{1, 1, 1, "y"}, {2, 2, 2, "uv"}}, 2},
      {V4L2_PIX_FMT_NV21, {{1, 1, 1, "y"}, {2, 2, 2, "vu"}}, 2},
      {V4L2_PIX_FMT_YUV422P, {{1, 1, 1, "y"}, {1, 2, 1, "u"}, {1, 2, 1, "v"}}, 3},
      {V4L2_PIX_FMT_NV12M, {{1, 1, 1, "y"}, {2, 2, 2, "uv"}}, 2},
      {V4L2_PIX_FMT_YUV420, {{1, 1, 1, "y"}, {1, 2, 2, "u"}, {1, 2, 2, "v"}}, 3},
      {V4L2_PIX_FMT_YVU420, {{1, 1, 1, "y"}, {1, 2, 2, "v"}, {1, 2, 2, "u"}}, 3},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].fourcc == fourcc) {
      memcpy(planes, table[i].planes, sizeof table[i].planes);
      return table[i].count;
    }
  return 0;
}

static unsigned stride_of(const struct opened *opened, const struct plane *plane) {
  unsigned stride = opened->width / plane->across * plane->bytes, extra = (unsigned)number(opened->camera, "stride");
  return stride + extra * plane->bytes / plane->across;
}

static unsigned memory_count(const struct opened *opened) {
  return opened->format->fourcc == V4L2_PIX_FMT_NV12M ? 2 : 1;
}

// Size of one of a buffer's memories in bytes.
static unsigned length_of(const struct opened *opened, unsigned memory) {
  struct plane planes[3];
  int count = planes_of(opened->format->fourcc, planes);
  if (!count) return opened->width * opened->height * 2 + 65536;
  unsigned length = 0;
  for (int i = 0; i < count; i++)
    if (memory_count(opened) == 1 || (unsigned)i == memory)
      length += stride_of(opened, &planes[i]) * (opened->height / planes[i].down);
  return number(opened->camera, "lie") ? length / 2 : length;
}

static size_t page(size_t length) {
  return (length + 4095) & ~(size_t)4095;
}

static size_t offset_of(const struct opened *opened, unsigned index, unsigned memory) {
  size_t step = page(length_of(opened, 0)) + (memory_count(opened) == 2 ? page(length_of(opened, 1)) : 0);
  return index * step + (memory ? page(length_of(opened, 0)) : 0);
}

static uint8_t sample(const struct opened *opened, char kind, unsigned x, unsigned y) {
  static const uint8_t bars[8][6] = {// Y, Cb, Cr, R, G, B
                                     {235, 128, 128, 255, 255, 255}, {210, 16, 146, 255, 255, 0},
                                     {170, 166, 16, 0, 255, 255},    {145, 54, 34, 0, 255, 0},
                                     {106, 202, 222, 255, 0, 255},   {81, 90, 240, 255, 0, 0},
                                     {41, 240, 110, 0, 0, 255},      {16, 128, 128, 0, 0, 0}};
  unsigned square = opened->width / 16;
  const uint8_t *color = bars[x * 8 / opened->width];
  if (y < square) color = bars[opened->shown >> (15 - x / square) & 1 ? 0 : 7];
  switch (kind) {
  case 'y': return color[0];
  case 'u': return color[1];
  case 'v': return color[2];
  case 'r': return color[3];
  case 'g': return color[4];
  case 'b': return color[5];
  default: return 0;
  }
}

// Fills a frame from the option "raw": its middle, as far as the zoom shows it, with the exposure's luma.
static unsigned paint_raw(const struct opened *opened, uint8_t *bytes) {
  const struct camera *camera = opened->camera;
  int zoom = 100 + camera->values[ZOOM], exposure = 100 + camera->values[EXPOSURE];
  size_t size = (size_t)opened->width * opened->height * 3 / 2, count = camera->raw_length / size;
  if (!count) return 0;
  const uint8_t *from = camera->raw + opened->sequence % count * size;
  for (int plane = 0; plane < 3; plane++) {
    int width = (int)opened->width / (plane ? 2 : 1), height = (int)opened->height / (plane ? 2 : 1);
    for (int y = 0; y < height; y++) {
      const uint8_t *row = from + (height / 2 + (y - height / 2) * 100 / zoom) * width;
      for (int x = 0; x < width; x++) {
        int value = row[width / 2 + (x - width / 2) * 100 / zoom];
        if (!plane) value = 16 + (value - 16) * exposure / 100;
        *bytes++ = (uint8_t)(plane ? value : value > 235 ? 235 : value < 16 ? 16 : value);
      }
    }
    from += width * height;
  }
  return (unsigned)size;
}

// Fills one of a buffer's memories; returns the number of bytes.
static unsigned paint(const struct opened *opened, uint8_t *bytes, unsigned memory) {
  unsigned length = length_of(opened, memory);
  if (is_compressed(opened->format)) {
    const struct camera *camera = opened->camera;
    if (!camera->piece_count) return 0;
    unsigned piece = (opened->sequence - opened->first) % camera->piece_count;
    size_t size = camera->starts[piece + 1] - camera->starts[piece];
    if (size > length) size = length;
    memcpy(bytes, camera->file + camera->starts[piece], size);
    return (unsigned)size;
  }
  if (opened->camera->raw && opened->format->fourcc == V4L2_PIX_FMT_YUV420) return paint_raw(opened, bytes);
  if (opened->camera->raw && opened->camera->raw_length >= length) {
    memcpy(bytes, opened->camera->raw + opened->sequence % (opened->camera->raw_length / length) * length, length);
    return length;
  }
  struct plane planes[3];
  int count = planes_of(opened->format->fourcc, planes);
  uint8_t *start = bytes;
  for (int i = 0; i < count; i++) {
    const struct plane *plane = &planes[i];
    if (memory_count(opened) == 2 && (unsigned)i != memory) continue;
    unsigned stride = stride_of(opened, plane), rows = opened->height / plane->down;
    uint8_t *last = NULL;
    for (unsigned y = 0; y < rows; y++, start += stride) {
      if (start + stride > bytes + length) return length;
      // Below the squares all rows are equal.
      if (last && y * plane->down > opened->width / 16) {
        memcpy(start, last, stride);
        continue;
      }
      for (unsigned x = 0; x < opened->width; x += plane->across) {
        unsigned luma = 0;
        for (unsigned i = 0; i < plane->bytes; i++) {
          unsigned shift = plane->samples[i] == 'y' ? luma++ : 0;
          start[x / plane->across * plane->bytes + i] = sample(opened, plane->samples[i], x + shift, y * plane->down);
        }
      }
      if (y * plane->down >= opened->width / 16) last = start;
    }
  }
  return length;
}

// Fills a buffer's structure; `used` is the number of bytes in each memory.
static void describe(struct opened *opened, struct v4l2_buffer *buffer, unsigned index, const unsigned used[2]) {
  char clock[16] = "";
  option(opened->camera, "clock", clock, sizeof clock);
  buffer->index = index;
  buffer->memory = V4L2_MEMORY_MMAP;
  buffer->field = V4L2_FIELD_NONE;
  buffer->flags = !strcmp(clock, "copy") ? V4L2_BUF_FLAG_TIMESTAMP_COPY : V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
  if (V4L2_TYPE_IS_MULTIPLANAR(buffer->type)) {
    buffer->length = memory_count(opened);
    for (unsigned i = 0; i < memory_count(opened); i++) {
      buffer->m.planes[i].length = length_of(opened, i);
      buffer->m.planes[i].m.mem_offset = (uint32_t)offset_of(opened, index, i);
      buffer->m.planes[i].bytesused = used[i];
    }
  } else {
    buffer->length = length_of(opened, 0);
    buffer->m.offset = (uint32_t)offset_of(opened, index, 0);
    buffer->bytesused = used[0];
  }
}

static int dequeue(struct opened *opened, struct v4l2_buffer *buffer) {
  struct camera *camera = opened->camera;
  uint64_t ticks;
  if (!opened->is_on) return fail(EINVAL);
  if (number(camera, "after") && opened->taken >= number(camera, "after")) return fail(EAGAIN);
  if (number(camera, "fail") && opened->taken >= number(camera, "fail")) {
    if (camera->last_failed != opened->file) camera->failed_count++;
    camera->last_failed = opened->file;
    if (!number(camera, "fails") || camera->failed_count <= number(camera, "fails")) return fail(EIO);
  }
  if (number(camera, "hang") && opened->taken == 9) {
    opened->taken++;
    pthread_mutex_unlock(&lock);
    struct timespec time = {(time_t)number(camera, "hang"), 0};
    nanosleep(&time, NULL);
    pthread_mutex_lock(&lock);
  }
  if (opened->head == opened->tail || is_spoiled(opened, "phantom")) return fail(EAGAIN);
  if (opened->waiting) {
    opened->waiting--;
    ticks = 1;
  } else if (read(opened->descriptor, &ticks, sizeof ticks) < 0) {
    return fail(errno);
  }
  opened->taken++;
  if (number(camera, "lossless")) {
    opened->waiting += (unsigned)ticks - 1;
    ticks = 1;
  }
  // Frames that were not dequeued in time are lost, and those selected by an option.
  opened->sequence += (unsigned)ticks - 1;
  if (is_every(opened, "lost")) opened->sequence += 2;
  unsigned index = opened->queue[opened->tail++ % (BUFFERS * 2)], used[2] = {0, 0};
  opened->is_queued[index] = false;
  double late = number(camera, "late");
  double time = now() - (late ? late / 1000 : 0.005) - (double)opened->waiting / (opened->rate ? opened->rate : 30);
  char shown[8] = "";
  option(camera, "shown", shown, sizeof shown);
  opened->shown = strcmp(shown, "time") ? opened->sequence : (unsigned)((uint64_t)(time * 1000) % 60000);
  for (unsigned i = 0; i < memory_count(opened); i++) {
    size_t size = page(length_of(opened, i));
    uint8_t *bytes = REAL(mmap)(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, opened->memory,
                                (off_t)offset_of(opened, index, i));
    if (bytes == MAP_FAILED) return -1;
    used[i] = paint(opened, bytes, i);
    REAL(munmap)(bytes, size);
    if (is_every(opened, "short")) used[i] /= 2;
    if (is_every(opened, "empty")) used[i] = 0;
  }
  describe(opened, buffer, index, used);
  if (is_every(opened, "error") || is_spoiled(opened, "corrupt")) buffer->flags |= V4L2_BUF_FLAG_ERROR;
  if (is_every(opened, "jump")) time += opened->sequence % 2 ? 3600 : -3600;
  buffer->timestamp.tv_sec = (time_t)time;
  buffer->timestamp.tv_usec = (suseconds_t)((time - (double)(time_t)time) * 1e6);
  buffer->sequence = opened->sequence++;
  return 0;
}

static int set_format(struct opened *opened, struct v4l2_format *request, bool is_set) {
  struct camera *camera = opened->camera;
  bool multi = V4L2_TYPE_IS_MULTIPLANAR(request->type);
  int error = (int)number(camera, "format");
  if (is_set && error) return fail(error);
  if (is_set && (opened->buffer_count || is_owned_by_other(opened))) return fail(EBUSY);
  if (is_set) {
    uint32_t fourcc = multi ? request->fmt.pix_mp.pixelformat : request->fmt.pix.pixelformat;
    unsigned width = multi ? request->fmt.pix_mp.width : request->fmt.pix.width;
    unsigned height = multi ? request->fmt.pix_mp.height : request->fmt.pix.height;
    for (unsigned i = 0; i < camera->format_count; i++)
      if (camera->formats[i].fourcc == fourcc) opened->format = &camera->formats[i];
    if (opened->format->is_range) {
      opened->width = width;
      opened->height = height;
    } else {
      unsigned best = ~0u;
      for (unsigned i = 0; i < opened->format->size_count; i++) {
        unsigned *size = opened->format->sizes[i];
        unsigned distance = (unsigned)(abs((int)(size[0] - width)) + abs((int)(size[1] - height)));
        if (distance >= best) continue;
        best = distance;
        opened->width = size[0];
        opened->height = size[1];
      }
    }
  }
  uint32_t requested = multi ? request->fmt.pix_mp.field : request->fmt.pix.field;
  uint32_t field = number(camera, "field") ? (uint32_t)number(camera, "field") : V4L2_FIELD_NONE;
  if (number(camera, "weaves") && requested == V4L2_FIELD_INTERLACED) field = requested;
  struct plane planes[3];
  int count = planes_of(opened->format->fourcc, planes);
  uint32_t colorspace = number(camera, "colorspace") ? (uint32_t)number(camera, "colorspace") : V4L2_COLORSPACE_SRGB;
  if (multi) {
    struct v4l2_pix_format_mplane *pixels = &request->fmt.pix_mp;
    *pixels = (struct v4l2_pix_format_mplane){.width = opened->width, .height = opened->height,
                                              .pixelformat = opened->format->fourcc, .colorspace = colorspace,
                                              .field = field,
                                              .num_planes = (uint8_t)memory_count(opened)};
    for (unsigned i = 0; i < pixels->num_planes; i++) {
      pixels->plane_fmt[i].sizeimage = length_of(opened, i);
      pixels->plane_fmt[i].bytesperline = count ? stride_of(opened, &planes[i]) : 0;
    }
  } else {
    request->fmt.pix = (struct v4l2_pix_format){.width = opened->width, .height = opened->height,
                                                .pixelformat = opened->format->fourcc, .colorspace = colorspace,
                                                .field = field,
                                                .sizeimage = length_of(opened, 0), .priv = V4L2_PIX_FMT_PRIV_MAGIC,
                                                .bytesperline = count ? stride_of(opened, &planes[0]) : 0};
  }
  return 0;
}

static int enumerate(struct opened *opened, unsigned long request, void *argument) {
  struct camera *camera = opened->camera;
  bool is_endless = number(camera, "endless");
  if (request == VIDIOC_ENUM_FMT) {
    struct v4l2_fmtdesc *description = argument;
    if (V4L2_TYPE_IS_MULTIPLANAR(description->type) != (number(camera, "planes") > 0)) return fail(EINVAL);
    if (!is_endless && description->index >= camera->format_count) return fail(EINVAL);
    description->pixelformat = camera->formats[description->index % camera->format_count].fourcc;
    // An endless enumeration has further formats.
    if (description->index >= camera->format_count) description->pixelformat = 0x20202041 + description->index;
    return 0;
  }
  uint32_t fourcc = request == VIDIOC_ENUM_FRAMESIZES ? ((struct v4l2_frmsizeenum *)argument)->pixel_format
                                                      : ((struct v4l2_frmivalenum *)argument)->pixel_format;
  struct format *format = is_endless ? &camera->formats[0] : NULL;
  for (unsigned i = 0; i < camera->format_count; i++)
    if (camera->formats[i].fourcc == fourcc) format = &camera->formats[i];
  if (!format) return fail(EINVAL);
  if (request == VIDIOC_ENUM_FRAMESIZES) {
    struct v4l2_frmsizeenum *size = argument;
    if (format->is_range) {
      if (size->index && !is_endless) return fail(EINVAL);
      size->type = V4L2_FRMSIZE_TYPE_STEPWISE;
      size->stepwise = (struct v4l2_frmsize_stepwise){format->sizes[0][0], format->sizes[1][0], format->sizes[2][0],
                                                      format->sizes[0][1], format->sizes[1][1], format->sizes[2][1]};
      return 0;
    }
    if (size->index >= format->size_count && !is_endless) return fail(EINVAL);
    size->type = V4L2_FRMSIZE_TYPE_DISCRETE;
    size->discrete.width = format->sizes[size->index % format->size_count][0] + size->index / format->size_count * 16;
    size->discrete.height = format->sizes[size->index % format->size_count][1];
    return 0;
  }
  struct v4l2_frmivalenum *interval = argument;
  if (format->is_rate_range) {
    if (interval->index && !is_endless) return fail(EINVAL);
    interval->type = V4L2_FRMIVAL_TYPE_CONTINUOUS;
    interval->stepwise = (struct v4l2_frmival_stepwise){
        .min = {1, format->rates[1]}, .max = {1, format->rates[0]}, .step = {1, format->rates[1]}};
    return 0;
  }
  if (interval->index >= format->rate_count && !is_endless) return fail(EINVAL);
  if (!format->rate_count) return fail(EINVAL);
  interval->type = V4L2_FRMIVAL_TYPE_DISCRETE;
  interval->discrete = (struct v4l2_fract){1, format->rates[interval->index % format->rate_count]};
  return 0;
}

static const struct {
  uint32_t id, type;
  const char *name;
  int minimum, maximum, step, value;
} controls[CONTROLS] = {
    {V4L2_CID_BRIGHTNESS, V4L2_CTRL_TYPE_INTEGER, "Brightness", -64, 64, 2, 0},
    {V4L2_CID_POWER_LINE_FREQUENCY, V4L2_CTRL_TYPE_MENU, "Power Line Frequency", 0, 2, 1, 1},
    {V4L2_CID_EXPOSURE_ABSOLUTE, V4L2_CTRL_TYPE_INTEGER, "Exposure Time, Absolute", 25, 400, 1, 100},
    {V4L2_CID_FOCUS_ABSOLUTE, V4L2_CTRL_TYPE_INTEGER, "Focus, Absolute", 0, 250, 5, 0},
    {V4L2_CID_FOCUS_AUTO, V4L2_CTRL_TYPE_BOOLEAN, "Focus, Automatic Continuous", 0, 1, 1, 1},
    {V4L2_CID_ZOOM_ABSOLUTE, V4L2_CTRL_TYPE_INTEGER, "Zoom, Absolute", 100, 300, 1, 100},
    {V4L2_CID_CAMERA_CLASS_BASE + 34, V4L2_CTRL_TYPE_MENU, "Camera Orientation", 0, 2, 1, 0},
    {V4L2_CID_CAMERA_CLASS_BASE + 35, V4L2_CTRL_TYPE_INTEGER, "Camera Sensor Rotation", 0, 270, 90, 0},
};

static int value_of(struct opened *opened, int index) {
  if (index == FACING) return (int)number(opened->camera, "facing");
  if (index == ROTATION) return (int)number(opened->camera, "rotation");
  return opened->camera->values[index] + controls[index].value;
}

static bool has_control(const struct camera *camera, int index) {
  return number(camera, "controls") > 1 || (index != EXPOSURE && index != ZOOM);
}

static int control(struct opened *opened, unsigned long request, void *argument) {
  struct camera *camera = opened->camera;
  uint32_t id = *(uint32_t *)argument;
  if (request == VIDIOC_G_EXT_CTRLS || request == VIDIOC_S_EXT_CTRLS) {
    struct v4l2_ext_controls *list = argument;
    struct v4l2_control one = {list->controls[0].id, list->controls[0].value};
    int result = control(opened, request == VIDIOC_G_EXT_CTRLS ? VIDIOC_G_CTRL : VIDIOC_S_CTRL, &one);
    list->controls[0].value = one.value;
    return result;
  }
  if (request == VIDIOC_S_CTRL && id == V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME &&
      opened->format->fourcc == V4L2_PIX_FMT_H264) {
    if (number(camera, "refuse")) return fail(EINVAL);
    opened->first = opened->sequence;
    return 0;
  }
  if (!number(camera, "controls")) return fail(ENOTTY);
  bool is_next = id & V4L2_CTRL_FLAG_NEXT_CTRL;
  id &= ~V4L2_CTRL_FLAG_NEXT_CTRL;
  int index = 0;
  while (index < CONTROLS && (!has_control(camera, index) ||
                              (is_next ? controls[index].id <= id : controls[index].id != id)))
    index++;
  // An endless enumeration repeats the first control.
  if (index == CONTROLS && is_next && number(camera, "endless")) index = 0;
  if (index == CONTROLS) return fail(EINVAL);
  bool is_fixed = index >= FACING, is_inactive = index == FOCUS && value_of(opened, AUTOMATIC_FOCUS);
  uint32_t flags = (is_fixed ? V4L2_CTRL_FLAG_READ_ONLY : 0) | (is_inactive ? V4L2_CTRL_FLAG_INACTIVE : 0);
  switch (request) {
  case VIDIOC_QUERY_EXT_CTRL: {
    struct v4l2_query_ext_ctrl *query = argument;
    *query = (struct v4l2_query_ext_ctrl){.id = controls[index].id, .type = controls[index].type,
                                          .minimum = controls[index].minimum, .maximum = controls[index].maximum,
                                          .step = (uint64_t)controls[index].step,
                                          .default_value = controls[index].value, .flags = flags};
    strcpy(query->name, controls[index].name);
    return 0;
  }
  case VIDIOC_QUERYMENU: {
    struct v4l2_querymenu *item = argument;
    static const char *const menus[2][3] = {{"Disabled", "50 Hz", "60 Hz"}, {"Front", "Back", "External"}};
    if (item->index > 2) return fail(EINVAL);
    strcpy((char *)item->name, menus[index == FACING][item->index]);
    return 0;
  }
  case VIDIOC_G_CTRL: ((struct v4l2_control *)argument)->value = value_of(opened, index); return 0;
  case VIDIOC_S_CTRL:
    if (is_fixed) return fail(EACCES);
    camera->values[index] = ((struct v4l2_control *)argument)->value - controls[index].value;
    return 0;
  }
  return fail(ENOTTY);
}

static int set_streaming(struct opened *opened, bool is_on) {
  int error = (int)number(opened->camera, "start");
  if (is_on && error) return fail(error);
  struct itimerspec time = {{0, 0}, {0, 0}};
  if (is_on) time.it_interval.tv_nsec = time.it_value.tv_nsec = 1000000000 / (opened->rate > 1 ? opened->rate : 2);
  timerfd_settime(opened->descriptor, 0, &time, NULL);
  opened->is_on = is_on;
  opened->waiting = 0;
  if (!is_on) {
    opened->head = opened->tail = 0;
    memset(opened->is_queued, 0, sizeof opened->is_queued);
    return 0;
  }
  struct camera *camera = opened->camera;
  if (!opened->start_count++) opened->stream = ++camera->stream_count;
  if (!camera->streaming_since) {
    camera->streaming_since = now();
  } else if (gone_for(camera) > number(camera, "replug") && camera->gone_count + 1 < number(camera, "unplugs")) {
    camera->streaming_since = now();
    camera->gone_count++;
  }
  return 0;
}

static int answer(struct opened *opened, unsigned long request, void *argument) {
  struct camera *camera = opened->camera;
  camera->call_count++;
  notice(opened);
  if (is_lost(opened)) return fail(ENODEV);
  if (!strcmp(camera->kind, "none")) return fail(ENOTTY);
  switch (request) {
  case VIDIOC_QUERYCAP: {
    struct v4l2_capability *capability = argument;
    memset(capability, 0, sizeof *capability);
    strcpy((char *)capability->driver, "fake");
    memcpy(capability->card, camera->card, 32);
    memcpy(capability->bus_info, camera->bus, 32);
    uint32_t flags = number(camera, "planes") ? V4L2_CAP_VIDEO_CAPTURE_MPLANE : V4L2_CAP_VIDEO_CAPTURE;
    if (!strcmp(camera->kind, "metadata")) flags = V4L2_CAP_META_CAPTURE;
    if (!strcmp(camera->kind, "output")) flags = V4L2_CAP_VIDEO_OUTPUT;
    if (!strcmp(camera->kind, "m2m")) flags = V4L2_CAP_VIDEO_M2M_MPLANE;
    if (strcmp(camera->kind, "read")) flags |= V4L2_CAP_STREAMING;
    capability->device_caps = flags;
    // Each node of a camera reports the capabilities of all its nodes.
    capability->capabilities = flags | V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_DEVICE_CAPS;
    return 0;
  }
  case VIDIOC_ENUM_FMT:
  case VIDIOC_ENUM_FRAMESIZES:
  case VIDIOC_ENUM_FRAMEINTERVALS: return enumerate(opened, request, argument);
  case VIDIOC_S_FMT: return set_format(opened, argument, true);
  case VIDIOC_G_FMT: return set_format(opened, argument, false);
  case VIDIOC_S_PARM:
  case VIDIOC_G_PARM: {
    struct v4l2_fract *interval = &((struct v4l2_streamparm *)argument)->parm.capture.timeperframe;
    if (request == VIDIOC_S_PARM && interval->numerator) opened->rate = interval->denominator / interval->numerator;
    if (!opened->rate) opened->rate = 30;
    *interval = (struct v4l2_fract){1, opened->rate};
    return 0;
  }
  case VIDIOC_ENUMINPUT: {
    struct v4l2_input *input = argument;
    if (input->index > 1) return fail(EINVAL);
    strcpy((char *)input->name, input->index ? "HDMI" : "Camera");
    return 0;
  }
  case VIDIOC_S_INPUT: return *(int *)argument > 1 ? fail(EINVAL) : 0;
  case VIDIOC_REQBUFS: {
    struct v4l2_requestbuffers *buffers = argument;
    int error = (int)number(camera, "buffers");
    if (buffers->count && camera->failed_count && number(camera, "again")) error = (int)number(camera, "again");
    if (error) return fail(error);
    if (is_owned_by_other(opened)) return fail(EBUSY);
    camera->owner = buffers->count ? opened->file : 0;
    unsigned most = number(camera, "count") ? (unsigned)number(camera, "count") : BUFFERS;
    if (buffers->count > most) buffers->count = most;
    opened->buffer_count = buffers->count;
    if (opened->memory >= 0) REAL(close)(opened->memory);
    opened->memory = -1;
    if (!buffers->count) return 0;
    opened->memory = memfd_create("fake camera", MFD_CLOEXEC);
    return ftruncate(opened->memory, (off_t)offset_of(opened, buffers->count, 0));
  }
  case VIDIOC_QUERYBUF: {
    struct v4l2_buffer *buffer = argument;
    if (buffer->index >= opened->buffer_count) return fail(EINVAL);
    describe(opened, buffer, buffer->index, (unsigned[2]){0, 0});
    return 0;
  }
  case VIDIOC_QBUF: {
    struct v4l2_buffer *buffer = argument;
    if (buffer->index >= opened->buffer_count || opened->is_queued[buffer->index]) return fail(EINVAL);
    opened->is_queued[buffer->index] = true;
    opened->queue[opened->head++ % (BUFFERS * 2)] = buffer->index;
    return 0;
  }
  case VIDIOC_DQBUF: return dequeue(opened, argument);
  case VIDIOC_STREAMON: return set_streaming(opened, true);
  case VIDIOC_STREAMOFF: return set_streaming(opened, false);
  case VIDIOC_QUERY_EXT_CTRL:
  case VIDIOC_QUERYMENU:
  case VIDIOC_G_CTRL:
  case VIDIOC_S_CTRL:
  case VIDIOC_G_EXT_CTRLS:
  case VIDIOC_S_EXT_CTRLS: return control(opened, request, argument);
  }
  return fail(ENOTTY);
}

// A file with a camera's speed, in place of the one in sysfs; -1 for another path.
static int open_speed(const char *path) {
  for (int i = 0; path && i < CAMERAS; i++) {
    char expected[128], text[32];
    if (!cameras[i].options || !option(&cameras[i], "speed", text, sizeof text)) continue;
    snprintf(expected, sizeof expected, "/sys/class/video4linux/%s/device/../speed", cameras[i].path + strlen("/dev/"));
    if (strcmp(path, expected)) continue;
    int file = memfd_create("fake speed", MFD_CLOEXEC);
    dprintf(file, "%s\n", text);
    lseek(file, 0, SEEK_SET);
    return file;
  }
  return -1;
}

#define OPEN(name)                                                          \
  int name(const char *path, int flags, ...) {                              \
    int speed = open_speed(path);                                           \
    if (speed >= 0) return speed;                                           \
    va_list list;                                                           \
    va_start(list, flags);                                                  \
    mode_t mode = va_arg(list, mode_t);                                     \
    va_end(list);                                                           \
    struct camera *camera = camera_at(path);                                \
    return camera ? open_camera(camera, flags) : REAL(name)(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                   \
  int name(int folder, const char *path, int flags, ...) {                             \
    va_list list;                                                                      \
    va_start(list, flags);                                                             \
    mode_t mode = va_arg(list, mode_t);                                                \
    va_end(list);                                                                      \
    struct camera *camera = camera_at(path);                                           \
    return camera ? open_camera(camera, flags) : REAL(name)(folder, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

int ioctl(int descriptor, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  pthread_mutex_lock(&lock);
  struct opened *opened = find(descriptor);
  if (opened && (request & 0xffffffff) == VIDIOC_QUERYCAP && number(opened->camera, "deaf")) {
    struct timespec time = {(time_t)number(opened->camera, "deaf"), 0};
    pthread_mutex_unlock(&lock);
    nanosleep(&time, NULL);
    pthread_mutex_lock(&lock);
    opened = find(descriptor);
  }
  int result = opened ? answer(opened, request & 0xffffffff, argument) : 0;
  int error = errno;
  pthread_mutex_unlock(&lock);
  if (!opened) return REAL(ioctl)(descriptor, request, argument);
  errno = error;
  return result;
}

static void remember(const struct opened *opened, void *start) {
  for (int i = 0; i < MAPPINGS; i++)
    if (!mappings[i].camera) {
      mappings[i] = (struct mapping){opened->camera, opened->file, start};
      return;
    }
  abort();
}

#define MAP(name, offset_type)                                                                            \
  void *name(void *start, size_t length, int protection, int flags, int descriptor, offset_type offset) { \
    pthread_mutex_lock(&lock);                                                                            \
    struct opened *opened = find(descriptor);                                                             \
    if (opened && !start && number(opened->camera, "guard")) {                                            \
      start = REAL(name)(NULL, page(length) + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);       \
      flags |= MAP_FIXED;                                                                                 \
    }                                                                                                     \
    void *result =                                                                                        \
        REAL(name)(start, length, protection, flags, opened ? opened->memory : descriptor, offset);       \
    int error = errno;                                                                                    \
    if (opened && result != MAP_FAILED) remember(opened, result);                                         \
    pthread_mutex_unlock(&lock);                                                                          \
    errno = error;                                                                                        \
    return result;                                                                                        \
  }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

int munmap(void *start, size_t length) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MAPPINGS; i++) {
    struct mapping mapping = mappings[i];
    if (!mapping.camera || mapping.start != start) continue;
    mappings[i].camera = NULL;
    let_go(mapping.camera, mapping.file);
  }
  pthread_mutex_unlock(&lock);
  return REAL(munmap)(start, length);
}

// A disconnected camera reports POLLHUP; one that delivers no more frames reports nothing.
int poll(struct pollfd *descriptors, nfds_t count, int timeout) {
  int rest = timeout;
  struct pollfd hidden[16];
  bool phantom = false;
  for (nfds_t i = 0; i < count && count <= 16; i++) {
    pthread_mutex_lock(&lock);
    struct opened *opened = find(descriptors[i].fd);
    bool gone = false, silent = false;
    if (opened) {
      notice(opened);
      gone = is_lost(opened);
      silent = number(opened->camera, "after") && opened->taken >= number(opened->camera, "after");
      phantom = is_spoiled(opened, "phantom") || (opened->waiting && opened->head != opened->tail);
      double unplug = number(opened->camera, "unplug");
      if (unplug && (rest < 0 || rest > 20)) rest = 20;
    }
    pthread_mutex_unlock(&lock);
    if (gone) {
      descriptors[i].revents = POLLERR | POLLHUP;
      return 1;
    }
    hidden[i] = descriptors[i];
    if (silent) hidden[i].fd = -1;
    if (phantom) {
      descriptors[i].revents = POLLIN;
      return 1;
    }
  }
  if (count > 16) return REAL(poll)(descriptors, count, timeout);
  int result = REAL(poll)(hidden, count, rest);
  for (nfds_t i = 0; i < count; i++) descriptors[i].revents = hidden[i].revents;
  return result;
}

int close(int descriptor) {
  pthread_mutex_lock(&lock);
  struct opened *opened = find(descriptor);
  if (opened) {
    if (opened->memory >= 0) REAL(close)(opened->memory);
    struct camera *camera = opened->camera;
    opened->camera = NULL;
    let_go(camera, opened->file);
  }
  pthread_mutex_unlock(&lock);
  return REAL(close)(descriptor);
}
