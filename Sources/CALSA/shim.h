#ifndef VIDICON_CALSA_SHIM_H
#define VIDICON_CALSA_SHIM_H

// ALSA (Advanced Linux Sound Architecture), and calls that Swift cannot express.

#include <alsa/asoundlib.h>

/// Discards a message that the library would write to standard error; its return value has the same information.
static inline void vidicon_alsa_discard_message(const char *file, int line, const char *function, int error, const char *format,
                                     ...) {
  (void)file, (void)line, (void)function, (void)error, (void)format;
}

/// Silences the library for the whole process. In C, since the handler has variable arguments.
static inline void vidicon_alsa_silence(void) { snd_lib_error_set_handler(vidicon_alsa_discard_message); }

#endif
