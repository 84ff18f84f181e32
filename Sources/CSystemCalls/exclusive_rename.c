#define _GNU_SOURCE
#include "ExclusiveRename.h"

#include <errno.h>
#include <stdio.h>

#if defined(__APPLE__)
#include <sys/stdio.h>

int vidicon_rename_exclusively(int folder, const char *name, const char *new_name) {
  return renameatx_np(folder, name, folder, new_name, RENAME_EXCL);
}
#elif defined(RENAME_NOREPLACE)
int vidicon_rename_exclusively(int folder, const char *name, const char *new_name) {
  return renameat2(folder, name, folder, new_name, RENAME_NOREPLACE);
}
#else
int vidicon_rename_exclusively(int folder, const char *name, const char *new_name) {
  (void)folder, (void)name, (void)new_name;
  errno = ENOSYS;
  return -1;
}
#endif
