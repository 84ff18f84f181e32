#ifndef VIDICON_MEMORY_FILE_H
#define VIDICON_MEMORY_FILE_H

#include <stddef.h>

/// Creates an anonymous file in memory, filled with zeros, to share with another process; closed on `exec`. Linux only. In
/// C, since Swift's Glibc module lacks `memfd_create`.
///
/// Returns the descriptor, or -1 with errno set.
int vidicon_memory_file(size_t size);

#endif
