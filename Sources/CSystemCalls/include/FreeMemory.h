#ifndef VIDICON_FREE_MEMORY_H
#define VIDICON_FREE_MEMORY_H

/// Returns free memory of the allocator to the system, where the C library has a call for it. In C, since Swift's Glibc
/// module lacks the GNU extension that does it.
void vidicon_return_free_memory(void);

/// Returns the pages of the program and its libraries that are as in their files, of which a start uses many more than what
/// follows; those that are used are read again, mostly from the system's cache. Does nothing on systems other than Linux.
void vidicon_return_unused_code(void);

/// Turns huge pages off for the process, whatever its libraries request. Does nothing on systems other than Linux.
void vidicon_avoid_huge_pages(void);

#endif
