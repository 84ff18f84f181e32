#ifndef VIDICON_FREE_MEMORY_H
#define VIDICON_FREE_MEMORY_H

/// Returns free memory of the allocator to the system, where the C library has a call for it. In C, since Swift's Glibc
/// module lacks the GNU extension that does it.
void vidicon_return_free_memory(void);

#endif
