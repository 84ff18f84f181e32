#include "FileSizeLimit.h"

#include <string.h>
#include <sys/resource.h>

#if defined(__APPLE__)
#include <sys/mount.h>
#include <sys/param.h>
#else
#include <sys/vfs.h>
#endif

// MSDOS_SUPER_MAGIC of linux/magic.h, which FAT12, FAT16 and FAT32 have. The sizes in directories of FAT have 32 bits.
enum { FAT_MAGIC = 0x4d44 };

static int is_fat(int folder) {
  struct statfs status;
  if (fstatfs(folder, &status)) return 0;
#if defined(__APPLE__)
  return !strcmp(status.f_fstypename, "msdos");
#else
  return status.f_type == FAT_MAGIC;
#endif
}

uint64_t vidicon_file_size_limit(int folder) {
  uint64_t maximum = is_fat(folder) ? UINT32_MAX : UINT64_MAX;
  struct rlimit limit;
  if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < maximum)
    maximum = limit.rlim_cur;
  return maximum;
}
