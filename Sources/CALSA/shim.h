#ifndef VIDICON_CALSA_SHIM_H
#define VIDICON_CALSA_SHIM_H

// Sound devices of Linux, and what of the library Swift cannot say.

#include <alsa/asoundlib.h>

/// Takes what the library would write to standard error, and lets it go: what it returns says as much.
static inline void vidicon_alsa_hush(const char *file, int line, const char *function, int error, const char *format,
                                     ...) {
  (void)file, (void)line, (void)function, (void)error, (void)format;
}

/// Keeps the library, for the whole process, from writing to standard error; such a handler has variable arguments.
static inline void vidicon_alsa_silence(void) { snd_lib_error_set_handler(vidicon_alsa_hush); }

#endif
