#ifdef __linux__

#include <stdlib.h>

/// Keeps Avahi's compatibility library from writing to standard error and the system's log that its own interface were
/// the better one. Done before main, while there is one thread: the environment may not be changed later.
__attribute__((constructor)) static void keep_avahi_quiet(void) {
  setenv("AVAHI_COMPAT_NOWARN", "1", 0);
}

#endif
