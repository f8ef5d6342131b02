/* The addon's host part: sd_notify datagrams, file locks and privacy of the process, which Node has no call for. */
#include "turnstone.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

napi_value turnstone_throw_errno(napi_env env, const char *syscall_name, int error_number) {
  char message[256];
  const char *name = strerrorname_np(error_number);
  snprintf(message, sizeof message, "%s: %s", syscall_name, strerror(error_number));
  napi_throw_error(env, name ? name : "EUNKNOWN", message);
  return NULL;
}

int turnstone_string(napi_env env, napi_value value, char *into, size_t size) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &length) != napi_ok || length >= size) {
    napi_throw_type_error(env, NULL, "a string was expected, or it is too long");
    return 0;
  }
  return napi_get_value_string_utf8(env, value, into, size, &length) == napi_ok;
}

int turnstone_int(napi_env env, napi_value value, int *into) {
  if (napi_get_value_int32(env, value, into) != napi_ok) {
    napi_throw_type_error(env, NULL, "an integer was expected");
    return 0;
  }
  return 1;
}

void turnstone_export(napi_env env, napi_value exports, const char *name, napi_callback callback) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, NULL, &function);
  napi_set_named_property(env, exports, name, function);
}

/* notify(socketPath, message): one datagram to systemd's notification socket; "@" begins an abstract name. */
static napi_value notify(napi_env env, napi_callback_info info) {
  napi_value args[2];
  size_t count = 2;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char message[4096];
  napi_get_cb_info(env, info, &count, args, NULL, NULL);
  if (!turnstone_string(env, args[0], address.sun_path, sizeof address.sun_path)) return NULL;
  if (!turnstone_string(env, args[1], message, sizeof message)) return NULL;
  socklen_t length = offsetof(struct sockaddr_un, sun_path) + strlen(address.sun_path);
  if (address.sun_path[0] == '@') address.sun_path[0] = 0;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return turnstone_throw_errno(env, "socket", errno);
  ssize_t sent = sendto(fd, message, strlen(message), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address, length);
  int error_number = errno;
  close(fd);
  return sent < 0 ? turnstone_throw_errno(env, "sendto", error_number) : NULL;
}

/* lockFile(fd): true when this open file now holds the exclusive lock, false when another process does. */
static napi_value lock_file(napi_env env, napi_callback_info info) {
  napi_value arg, result;
  size_t count = 1;
  int fd;
  napi_get_cb_info(env, info, &count, &arg, NULL, NULL);
  if (!turnstone_int(env, arg, &fd)) return NULL;
  int failed = flock(fd, LOCK_EX | LOCK_NB);
  if (failed && errno != EWOULDBLOCK) return turnstone_throw_errno(env, "flock", errno);
  napi_get_boolean(env, !failed, &result);
  return result;
}

/* hideProcess(): other processes of this user cannot read its variables and memory any more (PR_SET_DUMPABLE(2const)). */
static napi_value hide_process(napi_env env, napi_callback_info info) {
  (void)info;
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? turnstone_throw_errno(env, "prctl", errno) : NULL;
}

static napi_value initialise(napi_env env, napi_value exports) {
  turnstone_export(env, exports, "notify", notify);
  turnstone_export(env, exports, "lockFile", lock_file);
  turnstone_export(env, exports, "hideProcess", hide_process);
  turnstone_export_gpio(env, exports);
  turnstone_export_pty(env, exports);
  turnstone_export_serial(env, exports);
  return exports;
}

NAPI_MODULE(turnstone, initialise)
