// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An LD_PRELOAD library that makes system calls fail. Environment variables
// choose them:
//
//   FAIL_CALL   the kind: malloc, mmap, thread, open, read, write, spawn
//   FAIL_AT     the first call that fails, counted from 1
//   FAIL_COUNT  how many calls fail from there on (default 1; 0: all)
//   FAIL_ERRNO  the error (default: an exhausted resource)
//   FAIL_LOG    a file that receives the call count when the process exits
//
// Calls inside the C library, such as by stdio, are not intercepted.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

// The C library's own allocator.
extern "C" void *__libc_malloc(size_t);
extern "C" void *__libc_calloc(size_t, size_t);
extern "C" void *__libc_realloc(void *, size_t);
extern "C" void *__libc_memalign(size_t, size_t);

namespace {

enum Kind { Malloc, Mmap, Thread, Open, Read, Write, Spawn, NumKinds };
constexpr const char *kindNames[NumKinds] = {
    "malloc", "mmap", "thread", "open", "read", "write", "spawn"};
constexpr int defaultErrors[NumKinds] = {ENOMEM, ENOMEM, EAGAIN, EMFILE,
                                         EIO,    ENOSPC, EAGAIN};

std::atomic<long> counts[NumKinds];
long firstFailing = 0, numFailing = 1;
int error = 0;
int kindThatFails = -1; // none until the variables have been read

long getNumber(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text ? atol(text) : otherwise;
}

/// Returns true if this call must fail, and sets errno.
bool fails(Kind kind) {
  const long number = ++counts[kind];
  if (kind != kindThatFails || number < firstFailing ||
      (numFailing != 0 && number >= firstFailing + numFailing))
    return false;
  errno = error;
  return true;
}

/// The function with this name in the next library.
template <typename Function> Function *next(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

__attribute__((constructor(101))) void readVariables() {
  firstFailing = getNumber("FAIL_AT", 0);
  numFailing = getNumber("FAIL_COUNT", 1);
  const char *name = getenv("FAIL_CALL");
  for (int kind = 0; name && firstFailing > 0 && kind != NumKinds; ++kind)
    if (strcmp(name, kindNames[kind]) == 0) {
      error = static_cast<int>(getNumber("FAIL_ERRNO", defaultErrors[kind]));
      kindThatFails = kind;
    }
}

__attribute__((destructor)) void writeCounts() {
  const char *path = getenv("FAIL_LOG");
  if (!path)
    return;
  kindThatFails = -1;
  FILE *file = fopen(path, "w");
  for (int kind = 0; file && kind != NumKinds; ++kind)
    fprintf(file, "%s %ld\n", kindNames[kind], counts[kind].load());
  if (file)
    fclose(file);
}

} // namespace

extern "C" {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void *malloc(size_t size) {
  return fails(Malloc) ? nullptr : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return fails(Malloc) ? nullptr : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  return fails(Malloc) ? nullptr : __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  return fails(Malloc) ? nullptr : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  *result = memalign(alignment, size);
  return *result ? 0 : ENOMEM;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd,
           off_t offset) {
  static auto real = next<decltype(mmap)>("mmap");
  return fails(Mmap) ? MAP_FAILED
                     : real(address, size, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd,
             off_t offset) {
  return mmap(address, size, protection, flags, fd, offset);
}

//===----------------------------------------------------------------------===//
// Threads and processes
//===----------------------------------------------------------------------===//

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*start)(void *), void *argument) {
  static auto real = next<decltype(pthread_create)>("pthread_create");
  return fails(Thread) ? error : real(thread, attributes, start, argument);
}

int posix_spawn(pid_t *process, const char *path,
                const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const arguments[],
                char *const environment[]) {
  static auto real = next<decltype(posix_spawn)>("posix_spawn");
  return fails(Spawn)
             ? error
             : real(process, path, actions, attributes, arguments, environment);
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t); // not read without O_CREAT
  va_end(rest);
  static auto real = next<int(const char *, int, ...)>("open");
  return fails(Open) ? -1 : real(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open(path, flags, mode);
}

int memfd_create(const char *name, unsigned flags) noexcept {
  static auto real = next<int(const char *, unsigned)>("memfd_create");
  return fails(Open) ? -1 : real(name, flags);
}

int pipe2(int ends[2], int flags) noexcept {
  static auto real = next<int(int *, int)>("pipe2");
  return fails(Open) ? -1 : real(ends, flags);
}

ssize_t read(int fd, void *bytes, size_t size) {
  static auto real = next<decltype(read)>("read");
  return fails(Read) ? -1 : real(fd, bytes, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset) {
  static auto real = next<decltype(pread)>("pread");
  return fails(Read) ? -1 : real(fd, bytes, size, offset);
}

ssize_t pread64(int fd, void *bytes, size_t size, off_t offset) {
  return pread(fd, bytes, size, offset);
}

/// Messages always get out.
ssize_t write(int fd, const void *bytes, size_t size) {
  static auto real = next<decltype(write)>("write");
  return fd != STDERR_FILENO && fails(Write) ? -1 : real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
  static auto real = next<decltype(pwrite)>("pwrite");
  return fails(Write) ? -1 : real(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset) {
  return pwrite(fd, bytes, size, offset);
}

int ftruncate(int fd, off_t size) noexcept {
  static auto real = next<int(int, off_t)>("ftruncate");
  return fails(Write) ? -1 : real(fd, size);
}

int fsync(int fd) {
  static auto real = next<decltype(fsync)>("fsync");
  return fails(Write) ? -1 : real(fd);
}

} // extern "C"
