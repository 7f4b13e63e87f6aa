/* Preloaded: makes the n-th call of a kind fail with EIO, on files whose path has `j.db` in it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { SYNC, WRITE, TRUNCATE, KINDS };

static int calls[KINDS], failed[KINDS], at[KINDS];

void fail_at(int kind, int number) {
    calls[kind] = failed[kind] = 0;
    at[kind] = number;
}

int calls_of(int kind) { return calls[kind]; }

int failed_of(int kind) { return failed[kind]; }

static int fails(int kind, int descriptor) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    if (!strstr(path, "j.db") || ++calls[kind] != at[kind])
        return 0;
    failed[kind]++;
    errno = EIO;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int fd) { return fails(SYNC, fd) ? -1 : REAL(fsync)(fd); }

int fdatasync(int fd) { return fails(SYNC, fd) ? -1 : REAL(fdatasync)(fd); }

int ftruncate64(int fd, off64_t size) {
    return fails(TRUNCATE, fd) ? -1 : REAL(ftruncate64)(fd, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    return fails(WRITE, fd) ? -1 : REAL(pwrite64)(fd, data, size, offset);
}
