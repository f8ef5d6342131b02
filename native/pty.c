/* The addon's pseudo-terminal part: the simulated board's serial ports are real tty files, so that what opens them cannot tell. */
#include "turnstone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

static void set_int(napi_env env, napi_value object, const char *name, int value) {
  napi_value number;
  napi_create_int32(env, value, &number);
  napi_set_named_property(env, object, name, number);
}

/* openPty(): {master, slave, path}, raw in both directions. Whoever opens it closes both ends; closing them hangs up on every user of path,
   which is how a port is unplugged. The slave stays open meanwhile: without any user the master would read EIO. */
static napi_value open_pty(napi_env env, napi_callback_info info) {
  (void)info;
  char path[128];
  struct termios settings;
  int slave = -1;
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (master < 0) return turnstone_throw_errno(env, "posix_openpt", errno);
  if (grantpt(master) || unlockpt(master) || ptsname_r(master, path, sizeof path)) goto failed;
  slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0 || tcgetattr(slave, &settings)) goto failed;
  cfmakeraw(&settings);
  if (tcsetattr(slave, TCSANOW, &settings)) goto failed;

  napi_value result, text;
  napi_create_object(env, &result);
  set_int(env, result, "master", master);
  set_int(env, result, "slave", slave);
  napi_create_string_utf8(env, path, NAPI_AUTO_LENGTH, &text);
  napi_set_named_property(env, result, "path", text);
  return result;

failed:;
  int error_number = errno;
  if (slave >= 0) close(slave);
  close(master);
  return turnstone_throw_errno(env, "pty", error_number);
}

void turnstone_export_pty(napi_env env, napi_value exports) {
  turnstone_export(env, exports, "openPty", open_pty);
}
