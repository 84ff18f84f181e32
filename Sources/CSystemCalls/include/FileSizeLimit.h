#ifndef VIDICON_FILE_SIZE_LIMIT_H
#define VIDICON_FILE_SIZE_LIMIT_H

#include <stdint.h>

/// Maximum size of a file in an open folder, in bytes: that of the process (`RLIMIT_FSIZE`, `ulimit -f`), and 4 GiB - 1 on FAT.
/// `UINT64_MAX` where no limit is known; a file system may have another one, which a write finds. In C, since Swift's Glibc module
/// lacks statfs(2).
uint64_t vidicon_file_size_limit(int folder);

#endif
