#define _GNU_SOURCE
#include "MemoryFile.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int vidicon_memory_file(size_t size) {
#ifdef __linux__
  int file = memfd_create("vidicon", MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, (off_t)size) != 0) {
    int number = errno;
    close(file);
    errno = number;
    return -1;
  }
  return file;
#else
  (void)size;
  errno = ENOSYS;
  return -1;
#endif
}
