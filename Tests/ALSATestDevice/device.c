// A simulated ALSA device for tests: a 1 kHz sine at half of full scale, with a clock that drifts.
//
// PPM is the deviation of its clock in millionths; with CYCLE it changes by up to SWING millionths in both directions, within so
// many seconds, as with the temperature in the course of a day. With BEEP=1 the sine is heard in the first tenth of each
// second of CLOCK_MONOTONIC only.
//
// Files in its folder make it fail while they exist: "gone" simulates unplugging, "busy" another program that uses it,
// "forbidden" missing permissions, "stalled" a device without samples, "hung" an open that blocks; "overrun" causes one
// overrun and is then removed.

#ifdef __linux__

#define _GNU_SOURCE
#ifndef PIC
#define PIC  // ALSA then exports the symbol that it looks for in a plug-in.
#endif
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  snd_pcm_ioplug_t io;
  char folder[512];
  long ppm, jitter, swing, cycle, beep;
  int64_t origin;   // Time at which the clock started, in nanoseconds.
  int64_t start;    // Clock at the start of the device, in samples.
  int64_t read;     // Number of samples read since then.
  int64_t stalled;  // Clock at the last sample produced, in samples.
} device_t;

static int has(const device_t *device, const char *name) {
  char path[600];
  if (!*device->folder) return 0;
  snprintf(path, sizeof path, "%s/%s", device->folder, name);
  return access(path, F_OK) == 0;
}

static int consume(const device_t *device, const char *name) {
  char path[600];
  if (!*device->folder) return 0;
  snprintf(path, sizeof path, "%s/%s", device->folder, name);
  return unlink(path) == 0;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/// Seconds by which the device's clock is ahead, some seconds after the origin.
static double ahead(const device_t *device, double seconds) {
  double cycles = device->cycle ? 2 * M_PI / (double)device->cycle : 0;
  double swing = cycles > 0 ? (double)device->swing / 1e6 * (1 - cos(cycles * seconds)) / cycles : 0;
  return (double)device->ppm / 1e6 * seconds + swing;
}

/// The device's clock in samples.
static int64_t ticks(const device_t *device) {
  double seconds = (double)(now() - device->origin) / 1e9;
  return (int64_t)((seconds + ahead(device, seconds)) * device->io.rate);
}

/// Whether a sample is in the first tenth of a second of CLOCK_MONOTONIC.
static int is_beep(const device_t *device, double index) {
  double clock = index / device->io.rate, seconds = clock;
  for (int i = 0; i < 4; i++) seconds = clock - ahead(device, seconds);
  double time = (double)device->origin / 1e9 + seconds;
  return time - floor(time) < 0.1;
}

static int64_t produced(device_t *device) {
  if (!has(device, "stalled")) device->stalled = ticks(device);
  return device->stalled - device->start;
}

static int gone(device_t *device) {
  if (!has(device, "gone")) return 0;
  snd_pcm_ioplug_set_state(&device->io, SND_PCM_STATE_DISCONNECTED);
  return 1;
}

static int start(snd_pcm_ioplug_t *io) {
  device_t *device = io->private_data;
  if (gone(device)) return -ENODEV;
  device->start = ticks(device);
  device->read = 0;
  return 0;
}

static int stop(snd_pcm_ioplug_t *io) { return (void)io, 0; }

static int prepare(snd_pcm_ioplug_t *io) { return gone(io->private_data) ? -ENODEV : 0; }

static snd_pcm_sframes_t pointer(snd_pcm_ioplug_t *io) {
  device_t *device = io->private_data;
  if (gone(device)) return -ENODEV;
  if (consume(device, "overrun")) return -EPIPE;
  int64_t count = produced(device);
  if (count - device->read > (int64_t)io->buffer_size) return -EPIPE;
  return count % (int64_t)io->buffer_size;
}

static int delay(snd_pcm_ioplug_t *io, snd_pcm_sframes_t *frames) {
  device_t *device = io->private_data;
  *frames = produced(device) - device->read;
  if (device->jitter) *frames += rand() % (device->jitter * (long)io->rate / 1000000 + 1);
  return 0;
}

static snd_pcm_sframes_t transfer(snd_pcm_ioplug_t *io, const snd_pcm_channel_area_t *areas, snd_pcm_uframes_t offset,
                                  snd_pcm_uframes_t size) {
  device_t *device = io->private_data;
  if (gone(device)) return -ENODEV;
  for (unsigned channel = 0; channel < io->channels; channel++) {
    unsigned step = areas[channel].step / 8;
    char *place = (char *)areas[channel].addr + areas[channel].first / 8 + offset * step;
    for (snd_pcm_uframes_t i = 0; i < size; i++, place += step) {
      double index = (double)(device->start + device->read + (int64_t)i);
      // The third and later channels are loud, so that a test detects when they are captured.
      double value = channel < 2 ? 0.5 * sin(2 * M_PI * 1000 * index / io->rate) : 0.99;
      if (device->beep && !is_beep(device, index)) value = 0;
      switch (io->format) {
        case SND_PCM_FORMAT_FLOAT_LE: *(float *)place = (float)value; break;
        case SND_PCM_FORMAT_S32_LE: *(int32_t *)place = (int32_t)(value * 0x7fffffff); break;
        case SND_PCM_FORMAT_S24_3LE: {
          int32_t whole = (int32_t)(value * 0x7fffff);
          memcpy(place, &whole, 3);
          break;
        }
        case SND_PCM_FORMAT_U8: *(uint8_t *)place = (uint8_t)(128 + value * 127); break;
        default: *(int16_t *)place = (int16_t)(value * 0x7fff);
      }
    }
  }
  device->read += (int64_t)size;
  return (snd_pcm_sframes_t)size;
}

static int poll_revents(snd_pcm_ioplug_t *io, struct pollfd *fds, unsigned count, unsigned short *revents) {
  device_t *device = io->private_data;
  uint64_t expirations;
  (void)count;
  if (read(fds->fd, &expirations, sizeof expirations) < 0) expirations = 0;
  *revents = has(device, "gone") || produced(device) > device->read ? POLLIN : 0;
  return 0;
}

static int close_device(snd_pcm_ioplug_t *io) {
  close(io->poll_fd);
  free(io->private_data);
  return 0;
}

static const snd_pcm_ioplug_callback_t callbacks = {
    .start = start, .stop = stop, .pointer = pointer, .transfer = transfer, .close = close_device, .prepare = prepare,
    .poll_revents = poll_revents, .delay = delay,
};

SND_PCM_PLUGIN_DEFINE_FUNC(vidicon) {
  (void)root;
  device_t *device = calloc(1, sizeof *device);
  if (!device) return -ENOMEM;
  long channels = 1, rate = 48000;
  unsigned format = SND_PCM_FORMAT_S16_LE;
  snd_config_iterator_t i, next;
  snd_config_for_each(i, next, conf) {
    snd_config_t *node = snd_config_iterator_entry(i);
    const char *id, *text = "";
    if (snd_config_get_id(node, &id) < 0) continue;
    snd_config_get_string(node, &text);
    if (!strcmp(id, "ppm")) snd_config_get_integer(node, &device->ppm);
    if (!strcmp(id, "jitter")) snd_config_get_integer(node, &device->jitter);
    if (!strcmp(id, "swing")) snd_config_get_integer(node, &device->swing);
    if (!strcmp(id, "cycle")) snd_config_get_integer(node, &device->cycle);
    if (!strcmp(id, "beep")) snd_config_get_integer(node, &device->beep);
    if (!strcmp(id, "channels")) snd_config_get_integer(node, &channels);
    if (!strcmp(id, "rate")) snd_config_get_integer(node, &rate);
    if (!strcmp(id, "dir")) snprintf(device->folder, sizeof device->folder, "%s", text);
    if (!strcmp(id, "format")) format = (unsigned)snd_pcm_format_value(text);
  }
  while (has(device, "hung")) usleep(10000);
  int failure = has(device, "gone") ? -ENODEV : has(device, "busy") ? -EBUSY : has(device, "forbidden") ? -EACCES : 0;
  if (failure || stream != SND_PCM_STREAM_CAPTURE) {
    free(device);
    return failure ? failure : -EINVAL;
  }

  device->origin = now();
  device->io.version = SND_PCM_IOPLUG_VERSION;
  device->io.name = "Vidicon's test device";
  device->io.callback = &callbacks;
  device->io.private_data = device;
  device->io.poll_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  device->io.poll_events = POLLIN;
  struct itimerspec period = {{0, 5000000}, {0, 5000000}};
  timerfd_settime(device->io.poll_fd, 0, &period, NULL);
  int result = snd_pcm_ioplug_create(&device->io, name, stream, mode);
  if (result < 0) {
    close(device->io.poll_fd);
    free(device);
    return result;
  }
  unsigned access = SND_PCM_ACCESS_RW_INTERLEAVED;
  snd_pcm_ioplug_set_param_list(&device->io, SND_PCM_IOPLUG_HW_ACCESS, 1, &access);
  snd_pcm_ioplug_set_param_list(&device->io, SND_PCM_IOPLUG_HW_FORMAT, 1, &format);
  snd_pcm_ioplug_set_param_minmax(&device->io, SND_PCM_IOPLUG_HW_CHANNELS, (unsigned)channels, (unsigned)channels);
  snd_pcm_ioplug_set_param_minmax(&device->io, SND_PCM_IOPLUG_HW_RATE, (unsigned)rate, (unsigned)rate);
  snd_pcm_ioplug_set_param_minmax(&device->io, SND_PCM_IOPLUG_HW_PERIOD_BYTES, 64, 1 << 16);
  snd_pcm_ioplug_set_param_minmax(&device->io, SND_PCM_IOPLUG_HW_BUFFER_BYTES, 4096, 1 << 20);
  *pcmp = device->io.pcm;
  return 0;
}

SND_PCM_PLUGIN_SYMBOL(vidicon);

#endif
