/* The addon's serial part: what termios does not know of a UART (kernel documentation, "RS485 Serial Communications"). */
#include "turnstone.h"

#include <errno.h>
#include <linux/serial.h>
#include <string.h>
#include <sys/ioctl.h>

/* setRs485(fd, flags, delayBeforeMs, delayAfterMs): flags are rts on send 1, rts after send 2, receive while sending 4. */
static napi_value set_rs485(napi_env env, napi_callback_info info) {
  napi_value args[4];
  size_t count = 4;
  int fd, flags, before, after;
  napi_get_cb_info(env, info, &count, args, NULL, NULL);
  if (!turnstone_int(env, args[0], &fd) || !turnstone_int(env, args[1], &flags)) return NULL;
  if (!turnstone_int(env, args[2], &before) || !turnstone_int(env, args[3], &after)) return NULL;
  struct serial_rs485 settings;
  memset(&settings, 0, sizeof settings);
  settings.flags = SER_RS485_ENABLED;
  if (flags & 1) settings.flags |= SER_RS485_RTS_ON_SEND;
  if (flags & 2) settings.flags |= SER_RS485_RTS_AFTER_SEND;
  if (flags & 4) settings.flags |= SER_RS485_RX_DURING_TX;
  settings.delay_rts_before_send = before;
  settings.delay_rts_after_send = after;
  if (ioctl(fd, TIOCSRS485, &settings)) return turnstone_throw_errno(env, "TIOCSRS485", errno);
  return NULL;
}

void turnstone_export_serial(napi_env env, napi_value exports) {
  turnstone_export(env, exports, "setRs485", set_rs485);
}
