/* A disk that fails on command: counts and breaks what a process does to some of its files.
 *
 * Preload it into the program under test:
 *
 *   LD_PRELOAD=…/libdisk_faults.so        its path is in TREATY_DISK_FAULTS, for tests run by ctest
 *   DISK_FAULTS_FILES='treaty.db*'        glob for the last part of a file's path; unset: no file
 *   DISK_FAULTS_CONTROL=/tmp/…/control    a file that says what fails; read again at every
 * operation DISK_FAULTS_COUNTS=/tmp/…/counts      a file of eight native uint64, made when it is
 * not there: [0] writes  [1] bytes written  [2] fsyncs and fdatasyncs  [3] ftruncates and
 * fallocates [4] operations that were made to fail; the others are 0. Processes with one file add
 * up. In Python: struct.unpack("8Q", open(path, "rb").read(64))
 *
 * The control file is empty or absent (nothing fails), or holds one line,
 *
 *   ERROR OPERATION [SKIP]
 *
 *   ERROR      ENOSPC, EIO, EROFS, EDQUOT: the call fails with it and does nothing;
 *              SHORT: a write writes the first half and then fails with ENOSPC, as a full disk
 * does; KILL: the process ends as by kill -9, before the operation. OPERATION  write (pwrite,
 * write, ftruncate, fallocate), fsync (fdatasync too), or any. SKIP       so many matching
 * operations still succeed first, counted from the moment that this line was first seen. To count
 * again, change the line (a space at its end is enough).
 *
 * Replace it by rename when a half-written line would matter.
 *
 * Sanitizers: works with the asan and tsan presets as it is. Clang links their run time into the
 * program, whose own interceptors come first and call these as the next in line; for a build with
 * -shared-libasan set ASAN_OPTIONS=verify_asan_link_order=0. The library must not be preloaded into
 * the test runner itself: set LD_PRELOAD only for the program under test.
 *
 * The real work is done by raw system calls, so that nothing here depends on the order in which
 * libraries are loaded.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kWrites, kBytes, kSyncs, kTruncates, kFailures, kCounters = 8 };
enum { kLine = 128, kPath = 4096 };

typedef enum { OP_WRITE, OP_SYNC } Operation;
typedef enum { DO_NOTHING, DO_FAIL, DO_SHORT } Verdict;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t *counters; /* Shared with whoever reads the file; null: nobody counts. */
static char last_line[kLine];      /* The control line as last seen, */
static uint64_t seen;              /* and the matching operations since. */

static void map_counters(void) {
  const char *path = getenv("DISK_FAULTS_COUNTS");
  if (path == NULL) return;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  const size_t size = kCounters * sizeof(uint64_t);
  if (syscall(SYS_ftruncate, file, size) == 0) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, (int)file, 0);
    if (memory != MAP_FAILED) counters = memory;
  }
  syscall(SYS_close, file);
}

static void count(int which, uint64_t more) {
  pthread_once(&once, map_counters);
  if (counters != NULL) atomic_fetch_add(&counters[which], more);
}

/* True when the open file is one of those that are meant. */
static int is_meant(int file) {
  const char *pattern = getenv("DISK_FAULTS_FILES");
  if (pattern == NULL) return 0;
  char link[64];
  char path[kPath];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (size <= 0) return 0;
  path[size] = '\0';
  const char *slash = strrchr(path, '/');
  return slash != NULL && fnmatch(pattern, slash + 1, 0) == 0;
}

static int read_control(char *line) {
  const char *path = getenv("DISK_FAULTS_CONTROL");
  if (path == NULL) return 0;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return 0;
  const long size = syscall(SYS_read, file, line, kLine - 1);
  syscall(SYS_close, file);
  if (size <= 0) return 0;
  line[size] = '\0';
  return 1;
}

static int is_for(const char *word, Operation operation) {
  if (strcmp(word, "any") == 0) return 1;
  return strcmp(word, operation == OP_WRITE ? "write" : "fsync") == 0;
}

/* Whether SKIP matching operations have passed under this line. */
static int is_due(const char *line, uint64_t skip) {
  pthread_mutex_lock(&mutex);
  if (strcmp(line, last_line) != 0) {
    strcpy(last_line, line);
    seen = 0;
  }
  const int due = seen >= skip;
  ++seen;
  pthread_mutex_unlock(&mutex);
  return due;
}

static int code_of(const char *name) {
  if (strcmp(name, "EIO") == 0) return EIO;
  if (strcmp(name, "EROFS") == 0) return EROFS;
  if (strcmp(name, "EDQUOT") == 0) return EDQUOT;
  return ENOSPC;
}

/* What is to happen to an operation; sets errno when it is to fail. */
static Verdict judge(int file, Operation operation) {
  char line[kLine];
  char error[16];
  char word[16];
  unsigned long skip = 0;
  if (!is_meant(file) || !read_control(line)) return DO_NOTHING;
  if (sscanf(line, "%15s %15s %lu", error, word, &skip) < 2) return DO_NOTHING;
  if (!is_for(word, operation) || !is_due(line, skip)) return DO_NOTHING;
  if (strcmp(error, "KILL") == 0) {
    syscall(SYS_kill, getpid(), SIGKILL);
    pause();
  }
  count(kFailures, 1);
  errno = code_of(error);
  return strcmp(error, "SHORT") == 0 ? DO_SHORT : DO_FAIL;
}

static ssize_t counted_write(int file, ssize_t written) {
  if (written >= 0 && is_meant(file)) {
    count(kWrites, 1);
    count(kBytes, (uint64_t)written);
  }
  return written;
}

ssize_t write(int file, const void *bytes, size_t size) {
  const Verdict verdict = judge(file, OP_WRITE);
  if (verdict == DO_FAIL || (verdict == DO_SHORT && size < 2)) return -1;
  if (verdict == DO_SHORT) size /= 2;
  return counted_write(file, syscall(SYS_write, file, bytes, size));
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
  const Verdict verdict = judge(file, OP_WRITE);
  if (verdict == DO_FAIL || (verdict == DO_SHORT && size < 2)) return -1;
  if (verdict == DO_SHORT) size /= 2;
  return counted_write(file, syscall(SYS_pwrite64, file, bytes, size, offset));
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
  return pwrite64(file, bytes, size, offset);
}

int ftruncate64(int file, off64_t size) {
  if (judge(file, OP_WRITE) != DO_NOTHING) return -1;
  if (is_meant(file)) count(kTruncates, 1);
  return (int)syscall(SYS_ftruncate, file, size);
}

int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

int fallocate64(int file, int mode, off64_t offset, off64_t size) {
  if (judge(file, OP_WRITE) != DO_NOTHING) return -1;
  if (is_meant(file)) count(kTruncates, 1);
  return (int)syscall(SYS_fallocate, file, mode, offset, size);
}

int fallocate(int file, int mode, off_t offset, off_t size) {
  return fallocate64(file, mode, offset, size);
}

/* Answers its error instead of setting errno. */
int posix_fallocate64(int file, off64_t offset, off64_t size) {
  return fallocate64(file, 0, offset, size) == 0 ? 0 : errno;
}

int posix_fallocate(int file, off_t offset, off_t size) {
  return posix_fallocate64(file, offset, size);
}

int fsync(int file) {
  if (judge(file, OP_SYNC) != DO_NOTHING) return -1;
  if (is_meant(file)) count(kSyncs, 1);
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  if (judge(file, OP_SYNC) != DO_NOTHING) return -1;
  if (is_meant(file)) count(kSyncs, 1);
  return (int)syscall(SYS_fdatasync, file);
}
