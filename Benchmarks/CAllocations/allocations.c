// Counts heap allocations: these functions replace those of the C library, which they call.
//
// Allocations of libyuv are not counted: it allocates one or two rows whenever it scales or blends, and frees them at
// once.
#define _GNU_SOURCE
#include "CAllocations.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static atomic_ulong made;

unsigned long allocations_made(void) {
  return atomic_load_explicit(&made, memory_order_relaxed);
}

#ifdef __GLIBC__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

// Address range of libyuv's code.
static uintptr_t begin, end;

static int find(struct dl_phdr_info *library, size_t size, void *context) {
  (void)size, (void)context;
  if (!strstr(library->dlpi_name, "/libyuv.")) return 0;
  begin = end = library->dlpi_addr;
  for (int index = 0; index < library->dlpi_phnum; index++) {
    const uintptr_t last = library->dlpi_addr + library->dlpi_phdr[index].p_vaddr + library->dlpi_phdr[index].p_memsz;
    if (last > end) end = last;
  }
  return 1;
}

__attribute__((constructor)) static void find_libyuv(void) {
  dl_iterate_phdr(find, NULL);
}

static void count(const void *caller) {
  if ((uintptr_t)caller >= begin && (uintptr_t)caller < end) return;
  atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
  count(__builtin_return_address(0));
  return __libc_malloc(size);
}

void *calloc(size_t amount, size_t size) {
  count(__builtin_return_address(0));
  return __libc_calloc(amount, size);
}

void *realloc(void *memory, size_t size) {
  count(__builtin_return_address(0));
  return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  count(__builtin_return_address(0));
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
#endif
