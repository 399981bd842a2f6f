/* Makes the n-th system call on a file below a directory fail, in whatever library it is made: for LD_PRELOAD.
   failing_arm(0, ...) only counts. Calls of reading are left alone, apart from open. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char below[PATH_MAX];
static atomic_long count, failing;
static int error_number, lasts;
static char failed[PATH_MAX + 64], kinds[1 << 14];

void failing_arm(const char *directory, long n, int error, int for_good) {
    snprintf(below, sizeof below, "%s", directory);
    failing = n;
    error_number = error;
    lasts = for_good;
    failed[0] = 0;
    memset(kinds, 0, sizeof kinds);
    count = 0;
}

long failing_disarm(void) {
    below[0] = 0;
    return count;
}

const char *failing_name(void) { return failed; }

/* The first letters of the names of all calls. */
const char *failing_kinds(void) { return kinds; }

static int fails(const char *name, const char *path) {
    if (!below[0] || strncmp(path, below, strlen(below))) return 0;
    long n = ++count;
    if (n < (long)sizeof kinds) kinds[n - 1] = name[0];
    if (!failing || n < failing || (n > failing && !lasts)) return 0;
    if (n == failing) snprintf(failed, sizeof failed, "%s %s", name, path);
    errno = error_number;
    return 1;
}

static int fails_at(const char *name, int directory, const char *path) {
    if (!below[0]) return 0;
    char whole[PATH_MAX * 2], link[64];
    if (path[0] == '/' || directory == AT_FDCWD) return fails(name, path);
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, whole, PATH_MAX - 1);
    if (length < 0) return 0;
    whole[length] = 0;
    return fails(name, whole);
}

static int fails_on(const char *name, int descriptor) { return fails_at(name, descriptor, ""); }

#define NEXT(name) static __typeof__(name) *next; if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define ON_DESCRIPTOR(result, name, parameters, arguments) \
    result name parameters { NEXT(name); return fails_on(#name, fd) ? -1 : next arguments; }

ON_DESCRIPTOR(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
ON_DESCRIPTOR(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
ON_DESCRIPTOR(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
ON_DESCRIPTOR(int, fsync, (int fd), (fd))
ON_DESCRIPTOR(int, fdatasync, (int fd), (fd))
ON_DESCRIPTOR(int, ftruncate, (int fd, off_t size), (fd, size))
ON_DESCRIPTOR(int, ftruncate64, (int fd, off64_t size), (fd, size))

#define ON_PATH(name, parameters, at, path, arguments) \
    int name parameters { NEXT(name); return fails_at(#name, at, path) ? -1 : next arguments; }

ON_PATH(rename, (const char *old, const char *new), AT_FDCWD, new, (old, new))
ON_PATH(renameat, (int one, const char *old, int other, const char *new), other, new, (one, old, other, new))
ON_PATH(link, (const char *old, const char *new), AT_FDCWD, new, (old, new))
ON_PATH(linkat, (int one, const char *old, int other, const char *new, int flags), other, new, (one, old, other, new, flags))
ON_PATH(unlink, (const char *path), AT_FDCWD, path, (path))
ON_PATH(unlinkat, (int at, const char *path, int flags), at, path, (at, path, flags))
ON_PATH(rmdir, (const char *path), AT_FDCWD, path, (path))
ON_PATH(mkdir, (const char *path, mode_t mode), AT_FDCWD, path, (path, mode))
ON_PATH(mkdirat, (int at, const char *path, mode_t mode), at, path, (at, path, mode))

#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }

int open(const char *path, int flags, ...) { MODE NEXT(open); return fails_at("open", AT_FDCWD, path) ? -1 : next(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE NEXT(open64); return fails_at("open", AT_FDCWD, path) ? -1 : next(path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE NEXT(openat); return fails_at("open", at, path) ? -1 : next(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE NEXT(openat64); return fails_at("open", at, path) ? -1 : next(at, path, flags, mode); }
