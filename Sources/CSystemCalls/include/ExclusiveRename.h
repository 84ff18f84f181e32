#ifndef VIDICON_EXCLUSIVE_RENAME_H
#define VIDICON_EXCLUSIVE_RENAME_H

/// Renames an entry of a folder to a name that no entry has, in one step: renameat2(2) with `RENAME_NOREPLACE` on Linux,
/// `renameatx_np` with `RENAME_EXCL` on macOS. In C, since Swift's Glibc module lacks the GNU extension. `folder` is a
/// descriptor or `AT_FDCWD`. Returns 0, or -1 with `errno`: `EEXIST` where the name is taken; `EINVAL`, `ENOSYS` or
/// `ENOTSUP` where the file system or the kernel lacks the call.
int vidicon_rename_exclusively(int folder, const char *name, const char *new_name);

#endif
