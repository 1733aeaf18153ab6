// LD_PRELOAD: counts the calls of a process that may fail on files below one folder, and on connections that it opens, and
// fails the k-th, or copies the folder just before it, as kill -9 would have left it, or stops there until SIGCONT.
//
// Its orders are a text 'folder=/f&k=7&call=read&fault=EIO&lasting=9&sockets=1&copy=/to&log=/file', in the environment as
// TORTURE, or later by opening '/torture?' and the text. k=0 only counts. If the k-th call is another one than `call`, since
// threads or a server change the order, the next such call fails: no kernel says EMFILE to a write. The log gets a line
// 'K CALL PATH' for each, and 'HIT' for the one that failed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { GO_ON, FAIL, SHORTEN };
#define FILES 4096
#define LENGTH 300

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char orders[2000], folder[LENGTH], fault[20], copy[LENGTH], planned[20], names[FILES][LENGTH];
static long count, k, lasting, hit_at;
static int sockets, log_file = -1, ready;

static void read_order(const char *key, char *value, size_t size) {
  char sought[40];
  snprintf(sought, sizeof sought, "&%s=", key);
  const char *found = strstr(orders, sought);
  size_t length = found ? strcspn(found += strlen(sought), "&") : 0;
  snprintf(value, size, "%.*s", (int)length, found ? found : "");
}

static void obey(const char *text) {
  char number[20], log[LENGTH];
  pthread_mutex_lock(&lock);
  snprintf(orders, sizeof orders, "&%s", text);
  ready = 1, count = 0, hit_at = 0;
  read_order("folder", folder, sizeof folder), read_order("fault", fault, sizeof fault);
  read_order("copy", copy, sizeof copy), read_order("log", log, sizeof log);
  read_order("call", planned, sizeof planned);
  read_order("k", number, sizeof number), k = atol(number);
  read_order("lasting", number, sizeof number), lasting = atol(number);
  read_order("sockets", number, sizeof number), sockets = *number == '1';
  if (log_file >= 0) syscall(SYS_close, log_file);
  log_file = *log ? syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
  pthread_mutex_unlock(&lock);
}

static void begin(void) {
  if (!ready) obey(getenv("TORTURE") ? getenv("TORTURE") : "");
}

static int concerns(const char *path) {
  if (!path || !*folder) return 0;
  return strncmp(path, folder, strlen(folder)) == 0 || (sockets && strcmp(path, "connection") == 0);
}

static void note(const char *what, long number, const char *call, const char *path) {
  char line[LENGTH + 60];
  int length = snprintf(line, sizeof line, "%s%ld %s %s\n", what, number, call, path);
  if (log_file >= 0) syscall(SYS_write, log_file, line, length);
}

static int is_fault(const char *name) { return strcmp(fault, name) == 0; }

static int error_number(void) {
  static const struct { const char *name; int number; } known[] = {
    {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"ENOMEM", ENOMEM},
    {"ECONNRESET", ECONNRESET}, {"ECONNREFUSED", ECONNREFUSED},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (is_fault(known[i].name)) return known[i].number;
  return EIO;
}

static const char *name_on_connection(const char *call) {
  return strcmp(call, "read") == 0 ? "receive" : strcmp(call, "write") == 0 ? "send" : call;
}

static int decide(const char *call, const char *path) {
  begin();
  if (!concerns(path)) return GO_ON;
  if (strcmp(path, "connection") == 0) call = name_on_connection(call);
  pthread_mutex_lock(&lock);
  long number = ++count;
  note("", number, call, path);
  int is_planned = k > 0 && number >= k && (!*planned || strcmp(call, planned) == 0);
  long now = time(NULL);
  int is_hit = is_planned && (hit_at == 0 || now < hit_at + lasting);
  if (is_hit && hit_at == 0) hit_at = now;
  if (is_hit) note("HIT ", number, call, path);
  if (is_hit && is_fault("KILL")) {
    char command[LENGTH * 3];
    snprintf(command, sizeof command, "LD_PRELOAD= cp -a '%s' '%s'", folder, copy);
    // A file that a server removes meanwhile is no failure.
    is_hit = system(command) == -1;
  }
  pthread_mutex_unlock(&lock);
  if (!is_hit) return GO_ON;
  if (is_fault("STOP")) return kill(getpid(), SIGSTOP), GO_ON;
  if (is_fault("SHORT")) return SHORTEN;
  errno = error_number();
  return FAIL;
}

// Node closes files without `close`, and another connection or pipe may have the number of one that was named.
static int is_still_named(int file) {
  struct stat found;
  if (strcmp(names[file], "connection") == 0) return 1;
  return fstat(file, &found) == 0 && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
}

static const char *path_of(int file) {
  return file >= 0 && file < FILES && *names[file] && is_still_named(file) ? names[file] : NULL;
}

static void name_file(int file, const char *path) {
  if (file >= 0 && file < FILES) snprintf(names[file], LENGTH, "%s", concerns(path) ? path : "");
}

// One wrapper a call: its type, name, parameters, their names, what it is counted as, and the path that it concerns.
#define REAL(type, name, parameters) \
  static type(*real) parameters; \
  if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name)
#define CALL(type, name, parameters, arguments, call, path) \
  type name parameters { \
    REAL(type, name, parameters); \
    return decide(call, path) == FAIL ? (type)-1 : real arguments; \
  }
#define BYTES(name, parameters, arguments, call) \
  ssize_t name parameters { \
    REAL(ssize_t, name, parameters); \
    int decision = decide(call, path_of(file)); \
    if (decision == SHORTEN && size > 1) size /= 2; \
    return decision == FAIL ? -1 : real arguments; \
  }
#define OPEN(name, parameters, arguments) \
  int name parameters { \
    REAL(int, name, parameters); \
    mode_t mode = 0; \
    va_list more; \
    va_start(more, flags); \
    if (flags & (O_CREAT | O_TMPFILE)) mode = va_arg(more, int); \
    va_end(more); \
    if (strncmp(path, "/torture?", 9) == 0) return obey(path + 9), errno = ENOENT, -1; \
    if (decide("open", path) == FAIL) return -1; \
    int file = real arguments; \
    name_file(file, path); \
    return file; \
  }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))
BYTES(read, (int file, void *to, size_t size), (file, to, size), "read")
BYTES(pread, (int file, void *to, size_t size, off_t at), (file, to, size, at), "read")
BYTES(pread64, (int file, void *to, size_t size, off64_t at), (file, to, size, at), "read")
BYTES(readv, (int file, const struct iovec *to, int size), (file, to, size), "read")
BYTES(preadv64, (int file, const struct iovec *to, int size, off64_t at), (file, to, size, at), "read")
BYTES(write, (int file, const void *from, size_t size), (file, from, size), "write")
BYTES(pwrite, (int file, const void *from, size_t size, off_t at), (file, from, size, at), "write")
BYTES(pwrite64, (int file, const void *from, size_t size, off64_t at), (file, from, size, at), "write")
BYTES(writev, (int file, const struct iovec *from, int size), (file, from, size), "write")
BYTES(pwritev64, (int file, const struct iovec *from, int size, off64_t at), (file, from, size, at), "write")
CALL(int, fsync, (int file), (file), "sync", path_of(file))
CALL(int, fdatasync, (int file), (file), "sync", path_of(file))
CALL(int, ftruncate, (int file, off_t size), (file, size), "truncate", path_of(file))
CALL(int, ftruncate64, (int file, off64_t size), (file, size), "truncate", path_of(file))
CALL(int, rename, (const char *from, const char *to), (from, to), "rename", to)
CALL(int, link, (const char *from, const char *to), (from, to), "link", to)
CALL(int, symlink, (const char *from, const char *to), (from, to), "link", to)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), "mkdir", path)
CALL(int, unlink, (const char *path), (path), "unlink", path)
CALL(int, remove, (const char *path), (path), "unlink", path)
CALL(int, rmdir, (const char *path), (path), "unlink", path)
CALL(int, unlinkat, (int at, const char *path, int flags), (at, path, flags), "unlink", path)
CALL(void *, mmap, (void *at, size_t size, int pages, int flags, int file, off_t from),
  (at, size, pages, flags, file, from), "map", path_of(file))
CALL(void *, mmap64, (void *at, size_t size, int pages, int flags, int file, off64_t from),
  (at, size, pages, flags, file, from), "map", path_of(file))

int close(int file) {
  REAL(int, close, (int file));
  name_file(file, NULL);
  return real(file);
}

int connect(int file, const struct sockaddr *address, socklen_t size) {
  REAL(int, connect, (int file, const struct sockaddr *address, socklen_t size));
  const char *path = address->sa_family == AF_UNIX ? NULL : "connection";
  if (decide("connect", path) == FAIL) return -1;
  name_file(file, path);
  return real(file, address, size);
}
