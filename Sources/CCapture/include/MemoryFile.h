#ifndef VIDICON_MEMORY_FILE_H
#define VIDICON_MEMORY_FILE_H

#include <stddef.h>

/// A file that lies in memory only, of a size and full of zeros, for sharing with another process; closed when this one
/// starts a program. Linux only: a call that Swift's module of the C library leaves out.
///
/// Returns its descriptor, or -1 with errno set.
int vidicon_memory_file(size_t size);

#endif
