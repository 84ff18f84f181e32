// A library for LD_PRELOAD under which system calls on files fail, are cut short, or end the program; and which keeps a
// journal of them, from which the disk's content after a power loss at any call can be computed.
//
//   FAULT_ROOT=/folder      Calls on files below this folder count; all others are performed unchanged.
//   FAULT_JOURNAL=/file     Every call is appended to this file, see "struct record"; none without it.
//
// The first folder below the root selects the fault by its name, so that one program meets different faults in different
// folders: CALL-NUMBER-FAULT or CALL-NUMBER+-FAULT; up to four of them with commas between them; other names select none.
//
//   CALL      write (also pwrite, writev, pwritev), copy (sendfile, copy_file_range), read (also pread), sync (fdatasync,
//             fsync), rename, noreplace (renameat2 with RENAME_NOREPLACE), link, unlink, truncate, create (open with O_CREAT),
//             make (mkdir), lock (flock; not in the journal)
//   NUMBER    number of the call in that folder, the first is 1; with + that call and all later ones
//   FAULT     what ends at the next comma or dot: a name of "errors" below; short: half of the bytes, or one; kill: half of the
//             bytes, then SIGKILL
//
// limit-NUMBER-EFBIG is a file size limit in bytes: what lies beyond it is not written, and a write that begins there fails.
//
// Synchronization succeeds at once where it is not to fail: the journal says what would survive.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum call { WRITE, COPY, READ, SYNC, RENAME, NOREPLACE, LINK, UNLINK, TRUNCATE, CREATE, MAKE, LOCK, LIMIT, CALLS };
static const char *const names[CALLS] = {"write",  "copy",     "read",   "sync", "rename", "noreplace", "link",
                                         "unlink", "truncate", "create", "make", "lock",   "limit"};

// A journal entry, followed by both paths and the data. "open" is an open(2) that creates nothing; it never fails.
enum kind { K_CREATE = 1, K_WRITE, K_TRUNCATE, K_SYNC, K_SYNC_FOLDER, K_RENAME, K_LINK, K_UNLINK, K_MAKE, K_READ, K_OPEN };
struct record {
  uint32_t kind, error;
  uint64_t inode, offset, length; // A write's data have this length; of other kinds, no data follow.
  uint32_t path_length, other_length;
};

enum { FOLDERS = 4096, FAULTS = 4 };
struct fault {
  enum call call;
  long number;
  bool is_lasting, is_short, is_fatal;
  int error;
};
struct folder {
  char name[96];
  struct fault faults[FAULTS];
  size_t fault_count;
  long counts[CALLS];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct folder folders[FOLDERS];
static size_t folder_count;
static int journal = -2; // -2 before the first use, -1 without one.

static const char *root(void) {
  const char *path = getenv("FAULT_ROOT");
  return path && *path ? path : NULL;
}

// Parses CALL-NUMBER[+]-FAULT, and what follows a comma.
static void parse(struct folder *folder) {
  static const struct {
    const char *name;
    int number;
  } errors[] = {{"ENOSPC", ENOSPC}, {"EBADF", EBADF},   {"EPERM", EPERM},   {"EOPNOTSUPP", EOPNOTSUPP},
                {"EINVAL", EINVAL}, {"ENOSYS", ENOSYS}, {"EMLINK", EMLINK}, {"ENOLCK", ENOLCK},
                {"EROFS", EROFS},   {"EFBIG", EFBIG},   {"EACCES", EACCES}, {"EBUSY", EBUSY},
                {"EILSEQ", EILSEQ}};
  const char *text = folder->name;
  while (folder->fault_count < FAULTS) {
    struct fault *fault = &folder->faults[folder->fault_count];
    int call = 0;
    size_t length = 0;
    for (; call < CALLS; call++) {
      length = strlen(names[call]);
      if (!strncmp(text, names[call], length) && text[length] == '-') break;
    }
    if (call == CALLS) return;
    char *end;
    fault->number = strtol(text + length + 1, &end, 10);
    fault->is_lasting = *end == '+';
    if (fault->is_lasting) end++;
    if (fault->number < 1 || *end++ != '-') return;
    fault->call = call;
    size_t fault_length = strcspn(end, ".,");
    fault->is_short = !strncmp(end, "short", fault_length);
    fault->is_fatal = !strncmp(end, "kill", fault_length);
    fault->error = EIO;
    for (size_t index = 0; index < sizeof errors / sizeof *errors; index++)
      if (strlen(errors[index].name) == fault_length && !strncmp(end, errors[index].name, fault_length))
        fault->error = errors[index].number;
    folder->fault_count++;
    if (end[fault_length] != ',') return;
    text = end + fault_length + 1;
  }
}

// The folder of a path below the root; NULL for other paths.
static struct folder *find(const char *path) {
  const char *top = root();
  if (!top || !path) return NULL;
  size_t length = strlen(top);
  if (strncmp(path, top, length) || path[length] != '/') return NULL;
  const char *name = path + length + 1;
  size_t name_length = strcspn(name, "/");
  if (!name_length || name_length >= sizeof folders[0].name) return NULL;
  for (size_t index = 0; index < folder_count; index++)
    if (!strncmp(folders[index].name, name, name_length) && !folders[index].name[name_length]) return &folders[index];
  if (folder_count == FOLDERS) return NULL;
  struct folder *folder = &folders[folder_count++];
  memcpy(folder->name, name, name_length);
  parse(folder);
  return folder;
}

static bool path_of(int file, char path[PATH_MAX]) {
  if (!root()) return false;
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
  if (length <= 0 || path[0] != '/') return false;
  path[length] = 0;
  return true;
}

static bool path_at(int folder, const char *name, char path[PATH_MAX]) {
  if (!root() || !name) return false;
  if (name[0] == '/') return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
  if (folder == AT_FDCWD) {
    if (syscall(SYS_getcwd, path, PATH_MAX) <= 0) return false;
  } else if (!path_of(folder, path)) {
    return false;
  }
  size_t length = strlen(path);
  return snprintf(path + length, PATH_MAX - length, "/%s", name) < (int)(PATH_MAX - length);
}

static uint64_t inode(int file) {
  struct stat status;
  return fstat(file, &status) ? 0 : status.st_ino;
}

static void put(const void *bytes, size_t count) {
  while (count) {
    ssize_t done = syscall(SYS_write, journal, bytes, count);
    if (done <= 0) return;
    bytes = (const char *)bytes + done;
    count -= (size_t)done;
  }
}

// Appends a call that was performed, or has failed.
static void note(enum kind kind, long result, int file, uint64_t offset, const void *data, const char *path,
                 const char *other) {
  if (journal == -2) {
    const char *name = getenv("FAULT_JOURNAL");
    journal = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  }
  if (journal < 0) return;
  struct record record = {.kind = kind,
                          .error = result < 0 ? (uint32_t)errno : 0,
                          .inode = file >= 0 ? inode(file) : 0,
                          .offset = offset,
                          .length = data && result > 0 ? (uint64_t)result : 0,
                          .path_length = path ? (uint32_t)strlen(path) : 0,
                          .other_length = other ? (uint32_t)strlen(other) : 0};
  int saved = errno;
  put(&record, sizeof record);
  if (path) put(path, record.path_length);
  if (other) put(other, record.other_length);
  if (record.length) put(data, record.length);
  errno = saved;
}

// Fate of a call: performed, failed, with fewer bytes, or the end of the process.
enum verdict { PERFORM, FAIL, HALF, KILL };

static enum verdict decide(struct folder *folder, enum call call) {
  long number = ++folder->counts[call];
  for (size_t index = 0; index < folder->fault_count; index++) {
    const struct fault *fault = &folder->faults[index];
    if (fault->call != call || (fault->is_lasting ? number < fault->number : number != fault->number)) continue;
    if (fault->is_fatal) return KILL;
    if (fault->is_short) return HALF;
    errno = fault->error;
    return FAIL;
  }
  return PERFORM;
}

// Reduces the number of bytes that are written at an offset to what the file size limit allows; false where nothing is.
static bool limit(const struct folder *folder, off_t offset, size_t *count) {
  for (size_t index = 0; index < folder->fault_count; index++) {
    const struct fault *fault = &folder->faults[index];
    if (fault->call != LIMIT || !*count) continue;
    if (offset >= fault->number) {
      errno = fault->error;
      return false;
    }
    if (*count > (size_t)(fault->number - offset)) *count = (size_t)(fault->number - offset);
  }
  return true;
}

static void end(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

// Decides about a call without bytes; true when it is to be performed.
static bool may(struct folder *folder, enum call call) {
  enum verdict verdict = decide(folder, call);
  if (verdict == KILL) end();
  return verdict != FAIL;
}

static struct folder *enter(const char *path) {
  pthread_mutex_lock(&mutex);
  struct folder *folder = find(path);
  if (!folder) pthread_mutex_unlock(&mutex);
  return folder;
}

static long leave(long result) {
  int saved = errno;
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return result;
}

#define EXPORT __attribute__((visibility("default")))

static ssize_t write_at(int file, const void *bytes, size_t count, off_t offset, bool is_positioned) {
  char path[PATH_MAX];
  struct folder *folder = path_of(file, path) ? enter(path) : NULL;
  if (!folder)
    return is_positioned ? syscall(SYS_pwrite64, file, bytes, count, offset) : syscall(SYS_write, file, bytes, count);
  if (!is_positioned) offset = lseek(file, 0, SEEK_CUR);
  enum verdict verdict = decide(folder, WRITE);
  if (verdict != FAIL && !limit(folder, offset, &count)) {
    if (verdict == KILL) end();
    verdict = FAIL;
  }
  if (verdict >= HALF && count > 1) count /= 2;
  ssize_t result = -1;
  if (verdict != FAIL)
    result = is_positioned ? syscall(SYS_pwrite64, file, bytes, count, offset) : syscall(SYS_write, file, bytes, count);
  note(K_WRITE, result, file, (uint64_t)offset, bytes, path, NULL);
  if (verdict == KILL) end();
  return leave(result);
}

EXPORT ssize_t write(int file, const void *bytes, size_t count) { return write_at(file, bytes, count, 0, false); }
EXPORT ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  return write_at(file, bytes, count, offset, true);
}
EXPORT ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) {
  return write_at(file, bytes, count, offset, true);
}

static ssize_t write_vector(int file, const struct iovec *parts, int count, off_t offset, bool is_positioned) {
  char path[PATH_MAX];
  if (!path_of(file, path) || !find(path))
    return is_positioned ? syscall(SYS_pwritev, file, parts, count, offset, 0) : syscall(SYS_writev, file, parts, count);
  ssize_t sum = 0;
  for (int index = 0; index < count; index++) {
    ssize_t done = write_at(file, parts[index].iov_base, parts[index].iov_len, offset + sum, is_positioned);
    if (done < 0) return sum ? sum : done;
    sum += done;
    if ((size_t)done < parts[index].iov_len) break;
  }
  return sum;
}

EXPORT ssize_t writev(int file, const struct iovec *parts, int count) {
  return write_vector(file, parts, count, 0, false);
}
EXPORT ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
  return write_vector(file, parts, count, offset, true);
}

static ssize_t read_at(int file, void *bytes, size_t count, off_t offset, bool is_positioned) {
  char path[PATH_MAX];
  struct folder *folder = path_of(file, path) ? enter(path) : NULL;
  if (!folder)
    return is_positioned ? syscall(SYS_pread64, file, bytes, count, offset) : syscall(SYS_read, file, bytes, count);
  enum verdict verdict = decide(folder, READ);
  if (verdict == KILL) end();
  if (verdict == HALF && count > 1) count /= 2;
  ssize_t result = -1;
  if (verdict != FAIL)
    result = is_positioned ? syscall(SYS_pread64, file, bytes, count, offset) : syscall(SYS_read, file, bytes, count);
  note(K_READ, result, file, (uint64_t)offset, NULL, path, NULL);
  return leave(result);
}

EXPORT ssize_t read(int file, void *bytes, size_t count) { return read_at(file, bytes, count, 0, false); }
EXPORT ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
  return read_at(file, bytes, count, offset, true);
}
EXPORT ssize_t pread64(int file, void *bytes, size_t count, off_t offset) {
  return read_at(file, bytes, count, offset, true);
}

static int synchronize(int file, long number) {
  char path[PATH_MAX];
  struct folder *folder = path_of(file, path) ? enter(path) : NULL;
  if (!folder) return (int)syscall(number, file);
  int result = may(folder, SYNC) ? 0 : -1;
  struct stat status;
  bool is_folder = !fstat(file, &status) && S_ISDIR(status.st_mode);
  note(is_folder ? K_SYNC_FOLDER : K_SYNC, result, file, 0, NULL, path, NULL);
  return (int)leave(result);
}

EXPORT int flock(int file, int operation) {
  char path[PATH_MAX];
  struct folder *folder = path_of(file, path) ? enter(path) : NULL;
  if (!folder) return (int)syscall(SYS_flock, file, operation);
  return (int)leave(may(folder, LOCK) ? syscall(SYS_flock, file, operation) : -1);
}

EXPORT int fdatasync(int file) { return synchronize(file, SYS_fdatasync); }
EXPORT int fsync(int file) { return synchronize(file, SYS_fsync); }

static int cut(int file, off_t length) {
  char path[PATH_MAX];
  struct folder *folder = path_of(file, path) ? enter(path) : NULL;
  if (!folder) return (int)syscall(SYS_ftruncate, file, length);
  int result = may(folder, TRUNCATE) ? (int)syscall(SYS_ftruncate, file, length) : -1;
  note(K_TRUNCATE, result, file, (uint64_t)length, NULL, path, NULL);
  return (int)leave(result);
}

EXPORT int ftruncate(int file, off_t length) { return cut(file, length); }
EXPORT int ftruncate64(int file, off_t length) { return cut(file, length); }

static ssize_t copy(int to, off_t *to_offset, int from, off_t *from_offset, size_t count, bool is_sendfile) {
  char path[PATH_MAX];
  struct folder *folder = path_of(to, path) ? enter(path) : NULL;
  if (!folder)
    return is_sendfile ? syscall(SYS_sendfile, to, from, from_offset, count)
                       : syscall(SYS_copy_file_range, from, from_offset, to, to_offset, count, 0);
  enum verdict verdict = decide(folder, COPY);
  off_t source = from_offset ? *from_offset : lseek(from, 0, SEEK_CUR);
  off_t target = to_offset ? *to_offset : lseek(to, 0, SEEK_CUR);
  if (verdict != FAIL && !limit(folder, target, &count)) {
    if (verdict == KILL) end();
    verdict = FAIL;
  }
  if (verdict >= HALF && count > 1) count /= 2;
  ssize_t result = -1;
  if (verdict != FAIL)
    result = is_sendfile ? syscall(SYS_sendfile, to, from, from_offset, count)
                         : syscall(SYS_copy_file_range, from, from_offset, to, to_offset, count, 0);
  void *bytes = result > 0 ? malloc((size_t)result) : NULL;
  if (bytes && syscall(SYS_pread64, from, bytes, result, source) != result) abort();
  note(K_WRITE, result, to, (uint64_t)target, bytes, path, NULL);
  free(bytes);
  if (verdict == KILL) end();
  return leave(result);
}

EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t count) { return copy(to, NULL, from, offset, count, true); }
EXPORT ssize_t sendfile64(int to, int from, off_t *offset, size_t count) {
  return copy(to, NULL, from, offset, count, true);
}
EXPORT ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t count, unsigned flags) {
  (void)flags;
  return copy(to, to_offset, from, from_offset, count, false);
}

static int open_at(int base, const char *name, int flags, mode_t mode) {
  char path[PATH_MAX];
  struct folder *folder = path_at(base, name, path) ? enter(path) : NULL;
  if (!folder) return (int)syscall(SYS_openat, base, name, flags, mode);
  struct stat status;
  bool creates = flags & O_CREAT && fstatat(base, name, &status, AT_SYMLINK_NOFOLLOW);
  int file = !creates || may(folder, CREATE) ? (int)syscall(SYS_openat, base, name, flags, mode) : -1;
  note(creates ? K_CREATE : K_OPEN, file, file, 0, NULL, path, NULL);
  return (int)leave(file);
}

#define MODE(flags)                                                                                                    \
  mode_t mode = 0;                                                                                                     \
  if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) {                                                       \
    va_list list;                                                                                                      \
    va_start(list, flags);                                                                                             \
    mode = va_arg(list, mode_t);                                                                                       \
    va_end(list);                                                                                                      \
  }

EXPORT int open(const char *name, int flags, ...) {
  MODE(flags)
  return open_at(AT_FDCWD, name, flags, mode);
}
EXPORT int open64(const char *name, int flags, ...) {
  MODE(flags)
  return open_at(AT_FDCWD, name, flags, mode);
}
EXPORT int openat(int base, const char *name, int flags, ...) {
  MODE(flags)
  return open_at(base, name, flags, mode);
}
EXPORT int openat64(int base, const char *name, int flags, ...) {
  MODE(flags)
  return open_at(base, name, flags, mode);
}

// Performs a change of names.
static int change(enum call call, enum kind kind, int from_base, const char *from, int to_base, const char *to,
                  unsigned flags) {
  char path[PATH_MAX], other[PATH_MAX];
  struct folder *folder = path_at(from_base, from, path) ? enter(path) : NULL;
  if (folder && to && !path_at(to_base, to, other)) other[0] = 0;
  int result = -1;
  if (!folder || may(folder, call)) switch (call) {
    case RENAME:
    case NOREPLACE: result = (int)syscall(SYS_renameat2, from_base, from, to_base, to, flags); break;
    case LINK: result = (int)syscall(SYS_linkat, from_base, from, to_base, to, flags); break;
    case UNLINK: result = (int)syscall(SYS_unlinkat, from_base, from, flags); break;
    default: result = (int)syscall(SYS_mkdirat, from_base, from, flags); break;
    }
  if (!folder) return result;
  note(kind, result, -1, 0, NULL, path, to ? other : NULL);
  return (int)leave(result);
}

EXPORT int rename(const char *from, const char *to) {
  return change(RENAME, K_RENAME, AT_FDCWD, from, AT_FDCWD, to, 0);
}
EXPORT int renameat(int from_base, const char *from, int to_base, const char *to) {
  return change(RENAME, K_RENAME, from_base, from, to_base, to, 0);
}
EXPORT int renameat2(int from_base, const char *from, int to_base, const char *to, unsigned flags) {
  return change(flags & RENAME_NOREPLACE ? NOREPLACE : RENAME, K_RENAME, from_base, from, to_base, to, flags);
}
EXPORT int link(const char *from, const char *to) { return change(LINK, K_LINK, AT_FDCWD, from, AT_FDCWD, to, 0); }
EXPORT int linkat(int from_base, const char *from, int to_base, const char *to, int flags) {
  return change(LINK, K_LINK, from_base, from, to_base, to, (unsigned)flags);
}
EXPORT int unlink(const char *path) { return change(UNLINK, K_UNLINK, AT_FDCWD, path, AT_FDCWD, NULL, 0); }
EXPORT int unlinkat(int base, const char *path, int flags) {
  return change(UNLINK, K_UNLINK, base, path, AT_FDCWD, NULL, (unsigned)flags);
}
EXPORT int mkdir(const char *path, mode_t mode) { return change(MAKE, K_MAKE, AT_FDCWD, path, AT_FDCWD, NULL, mode); }
