/* A disk that fails on command: counts and breaks what a process does to some of its files.
 *
 * Preload it into the program under test (its path is in TREATY_DISK_FAULTS, for tests run by
 * ctest), and say by variables what it does:
 *
 *   DISK_FAULTS_FILES    which files are meant: globs, with colons between them. One without a
 *                        slash is for the last part of a path ("treaty.db*"), one with a slash
 *                        for the whole of it, where * goes past slashes; unset: no file.
 *
 *   DISK_FAULTS_PROGRAM  glob for the name of the program ("treaty"), since children inherit what
 *                        is preloaded; unset: every program.
 *
 *   DISK_FAULTS_CONTROL  a file that says what fails; read again at every operation.
 *
 *   DISK_FAULTS_COUNTS   a file of eight native uint64, made when it is not there. Processes with
 *                        one file add up. In Python: struct.unpack("8Q", path.read_bytes()[:64])
 *
 *                        [0] writes  [1] bytes written  [2] fsyncs and fdatasyncs
 *                        [3] ftruncates and fallocates  [4] operations that were made to fail
 *                        [5] changes of names; the others are 0.
 *
 * The control file is empty or absent (nothing fails), or holds one line,
 *
 *   ERROR OPERATION [SKIP]
 *
 *   ERROR      ENOSPC, EIO, EROFS, EDQUOT, EACCES, EPERM, EXDEV, EMFILE: the call fails with it
 *              and does nothing;
 *
 *              SHORT: a write writes the first half and then fails with ENOSPC, as a full disk
 *              does;
 *
 *              KILL: the process ends as by kill -9, before the operation.
 *
 *   OPERATION  write: write, pwrite, ftruncate, fallocate;
 *
 *              fsync: fdatasync, too;
 *
 *              name: what changes the names in a directory, for the old name as for the new one:
 *              rename, link, unlink, remove, mkdir, rmdir, mkstemp, and open with O_CREAT, whether
 *              or not the file is there; of each also the relatives (renameat2, mkostemp...). Not
 *              what the C library opens for itself (fopen);
 *
 *              any: all of them.
 *
 *   SKIP       so many matching operations of the process still succeed first, counted from the
 *              moment that this line was first seen. To count again, change the line (a space at
 *              its end is enough).
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
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kWrites, kBytes, kSyncs, kTruncates, kFailures, kNames, kCounters = 8 };
enum { kLine = 128, kPath = 4096 };

typedef enum { OP_WRITE, OP_SYNC, OP_NAME } Operation;
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

/* Whether one of the globs between colons is for the path. */
static int is_named(const char *path) {
  const char *globs = getenv("DISK_FAULTS_FILES");
  if (globs == NULL) return 0;
  const char *slash = strrchr(path, '/');
  const char *last = slash != NULL ? slash + 1 : path;
  while (*globs != '\0') {
    char glob[kPath];
    const size_t size = strcspn(globs, ":");
    snprintf(glob, sizeof glob, "%.*s", (int)size, globs);
    if (fnmatch(glob, strchr(glob, '/') != NULL ? path : last, 0) == 0) return 1;
    globs += size + (globs[size] == ':');
  }
  return 0;
}

static int is_program(void) {
  const char *glob = getenv("DISK_FAULTS_PROGRAM");
  return glob == NULL || fnmatch(glob, program_invocation_short_name, 0) == 0;
}

/* What a link holds; the number of its characters. */
static size_t read_link(const char *link, char *path, size_t room) {
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, room - 1);
  const size_t known = size > 0 ? (size_t)size : 0;
  path[known] = '\0';
  return known;
}

/* True when the open file is one of those that are meant. */
static int is_meant(int file) {
  if (getenv("DISK_FAULTS_FILES") == NULL || !is_program()) return 0;
  char link[64];
  char path[kPath];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  return read_link(link, path, sizeof path) > 0 && is_named(path);
}

/* The same for a name, seen from an open directory. */
static int is_meant_at(int directory, const char *name) {
  if (name == NULL || getenv("DISK_FAULTS_FILES") == NULL || !is_program()) return 0;
  char link[64] = "/proc/self/cwd";
  char path[2 * kPath] = "";
  size_t size = 0;
  if (directory != AT_FDCWD) snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
  if (name[0] != '/') {
    size = read_link(link, path, kPath);
    path[size++] = '/';
  }
  snprintf(path + size, kPath, "%s", name);
  size = strlen(path);
  while (size > 1 && path[size - 1] == '/') path[--size] = '\0';
  return is_named(path);
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
  static const char *const words[] = {"write", "fsync", "name"};
  return strcmp(word, "any") == 0 || strcmp(word, words[operation]) == 0;
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
  static const struct {
    const char *name;
    int code;
  } codes[] = {{"EIO", EIO},     {"EROFS", EROFS}, {"EDQUOT", EDQUOT}, {"EACCES", EACCES},
               {"EPERM", EPERM}, {"EXDEV", EXDEV}, {"EMFILE", EMFILE}};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; ++i) {
    if (strcmp(name, codes[i].name) == 0) return codes[i].code;
  }
  return ENOSPC;
}

/* What is to happen to an operation on a file that is meant; sets errno when it is to fail. */
static Verdict judge_meant(Operation operation) {
  char line[kLine];
  char error[16];
  char word[16];
  unsigned long skip = 0;
  if (!read_control(line)) return DO_NOTHING;
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

static Verdict judge(int file, Operation operation) {
  return is_meant(file) ? judge_meant(operation) : DO_NOTHING;
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

/* Whether a change of names is let through; counts it then. */
static int may_name(int is_meant_here) {
  if (!is_meant_here) return 1;
  if (judge_meant(OP_NAME) != DO_NOTHING) return 0;
  count(kNames, 1);
  return 1;
}

int renameat2(int from, const char *old, int to, const char *fresh, unsigned int flags) {
  if (!may_name(is_meant_at(from, old) || is_meant_at(to, fresh))) return -1;
  return (int)syscall(SYS_renameat2, from, old, to, fresh, flags);
}

int renameat(int from, const char *old, int to, const char *fresh) {
  return renameat2(from, old, to, fresh, 0);
}

int rename(const char *old, const char *fresh) {
  return renameat2(AT_FDCWD, old, AT_FDCWD, fresh, 0);
}

int linkat(int from, const char *old, int to, const char *fresh, int flags) {
  if (!may_name(is_meant_at(from, old) || is_meant_at(to, fresh))) return -1;
  return (int)syscall(SYS_linkat, from, old, to, fresh, flags);
}

int link(const char *old, const char *fresh) { return linkat(AT_FDCWD, old, AT_FDCWD, fresh, 0); }

int unlinkat(int directory, const char *name, int flags) {
  if (!may_name(is_meant_at(directory, name))) return -1;
  return (int)syscall(SYS_unlinkat, directory, name, flags);
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int remove(const char *name) {
  if (!may_name(is_meant_at(AT_FDCWD, name))) return -1;
  const long removed = syscall(SYS_unlinkat, AT_FDCWD, name, 0);
  if (removed == 0 || errno != EISDIR) return (int)removed;
  return (int)syscall(SYS_unlinkat, AT_FDCWD, name, AT_REMOVEDIR);
}

int mkdirat(int directory, const char *name, mode_t mode) {
  if (!may_name(is_meant_at(directory, name))) return -1;
  return (int)syscall(SYS_mkdirat, directory, name, mode);
}

int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

static int open_at(int directory, const char *name, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && !may_name(is_meant_at(directory, name))) return -1;
  return (int)syscall(SYS_openat, directory, name, flags, mode);
}

/* The mode is there only when a file may be made. */
#define OPEN(DIRECTORY)                                             \
  mode_t mode = 0;                                                  \
  if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) { \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode = va_arg(rest, mode_t);                                    \
    va_end(rest);                                                   \
  }                                                                 \
  return open_at(DIRECTORY, name, flags, mode)

int open(const char *name, int flags, ...) { OPEN(AT_FDCWD); }

int open64(const char *name, int flags, ...) { OPEN(AT_FDCWD); }

int openat(int directory, const char *name, int flags, ...) { OPEN(directory); }

int openat64(int directory, const char *name, int flags, ...) { OPEN(directory); }

int creat(const char *name, mode_t mode) {
  return open_at(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int creat64(const char *name, mode_t mode) { return creat(name, mode); }

/* The C library's own would open the file behind our back. */
int mkostemps64(char *name, int after, int flags) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  const size_t size = strlen(name);
  if (after < 0 || size < 6 + (size_t)after ||
      strncmp(name + size - (size_t)after - 6, "XXXXXX", 6) != 0) {
    errno = EINVAL;
    return -1;
  }
  if (!may_name(is_meant_at(AT_FDCWD, name))) return -1;
  char *place = name + size - (size_t)after - 6;
  for (;;) {
    unsigned char random[6] = {0};
    if (syscall(SYS_getrandom, random, sizeof random, 0) < 0) return -1;
    for (size_t i = 0; i < sizeof random; ++i) place[i] = letters[random[i] % 36];
    const long file =
        syscall(SYS_openat, AT_FDCWD, name, flags | O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (file >= 0 || errno != EEXIST) return (int)file;
  }
}

int mkostemps(char *name, int after, int flags) { return mkostemps64(name, after, flags); }

int mkostemp(char *name, int flags) { return mkostemps64(name, 0, flags); }

int mkostemp64(char *name, int flags) { return mkostemps64(name, 0, flags); }

int mkstemp(char *name) { return mkostemps64(name, 0, 0); }

int mkstemp64(char *name) { return mkostemps64(name, 0, 0); }
