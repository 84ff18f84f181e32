// Preloaded, it makes copies of files (sendfile) take long, as those of hours of video do.
#include <sys/types.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
  sleep(10);
  return syscall(SYS_sendfile, to, from, offset, count);
}

ssize_t sendfile64(int to, int from, off_t *offset, size_t count) {
  return sendfile(to, from, offset, count);
}
