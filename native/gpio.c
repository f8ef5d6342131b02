/* The addon's GPIO part: the kernel's GPIO character device, uAPI v2 (include/uapi/linux/gpio.h). Only what needs an ioctl is here;
   edge events are 48-byte records that JavaScript reads from the line's file and parses itself. */
#include "turnstone.h"

#include <errno.h>
#include <linux/gpio.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

static void set_text(napi_env env, napi_value object, const char *name, const char *text, size_t size) {
  napi_value value;
  napi_create_string_utf8(env, text, strnlen(text, size), &value);
  napi_set_named_property(env, object, name, value);
}

static void set_number(napi_env env, napi_value object, const char *name, double number) {
  napi_value value;
  napi_create_double(env, number, &value);
  napi_set_named_property(env, object, name, value);
}

/* Reads `count` int32 arguments; throws and returns 0 when one is missing or not a number. */
static int int_arguments(napi_env env, napi_callback_info info, int *into, size_t count) {
  napi_value args[4];
  size_t given = 4;
  napi_get_cb_info(env, info, &given, args, NULL, NULL);
  for (size_t at = 0; at < count; at++) {
    if (!turnstone_int(env, args[at], &into[at])) return 0;
  }
  return 1;
}

/* gpioChipInfo(chipFd): {name, label, lines} */
static napi_value chip_info(napi_env env, napi_callback_info info) {
  int fd;
  struct gpiochip_info chip = {0};
  napi_value result;
  if (!int_arguments(env, info, &fd, 1)) return NULL;
  if (ioctl(fd, GPIO_GET_CHIPINFO_IOCTL, &chip) < 0) return turnstone_throw_errno(env, "GPIO_GET_CHIPINFO", errno);
  napi_create_object(env, &result);
  set_text(env, result, "name", chip.name, sizeof chip.name);
  set_text(env, result, "label", chip.label, sizeof chip.label);
  set_number(env, result, "lines", chip.lines);
  return result;
}

/* gpioLineInfo(chipFd, offset): {name, consumer, flags}; consumer is who holds the line, flags are GPIO_V2_LINE_FLAG_*. */
static napi_value line_info(napi_env env, napi_callback_info info) {
  int args[2];
  struct gpio_v2_line_info line = {0};
  napi_value result;
  if (!int_arguments(env, info, args, 2)) return NULL;
  line.offset = (__u32)args[1];
  if (ioctl(args[0], GPIO_V2_GET_LINEINFO_IOCTL, &line) < 0) return turnstone_throw_errno(env, "GPIO_V2_GET_LINEINFO", errno);
  napi_create_object(env, &result);
  set_text(env, result, "name", line.name, sizeof line.name);
  set_text(env, result, "consumer", line.consumer, sizeof line.consumer);
  set_number(env, result, "flags", (double)line.flags);
  return result;
}

static int int_property(napi_env env, napi_value object, const char *name, int *into) {
  napi_value value;
  return napi_get_named_property(env, object, name, &value) == napi_ok && turnstone_int(env, value, into);
}

/* Fills a line's configuration from {flags, debounceUs, level}: level is what an output shows first, so that it never shows another;
   the kernel debounces when debounceUs is not 0. Throws and returns 0 when a property is missing. */
static int line_config(napi_env env, napi_value from, struct gpio_v2_line_config *config) {
  int flags, debounce_us, level;
  if (!int_property(env, from, "flags", &flags) || !int_property(env, from, "debounceUs", &debounce_us) ||
      !int_property(env, from, "level", &level)) return 0;
  config->flags = (__u64)flags;
  if (flags & GPIO_V2_LINE_FLAG_OUTPUT) {
    struct gpio_v2_line_config_attribute *attribute = &config->attrs[config->num_attrs++];
    attribute->attr.id = GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES;
    attribute->attr.values = level ? 1 : 0;
    attribute->mask = 1;
  }
  if (debounce_us > 0) {
    struct gpio_v2_line_config_attribute *attribute = &config->attrs[config->num_attrs++];
    attribute->attr.id = GPIO_V2_LINE_ATTR_ID_DEBOUNCE;
    attribute->attr.debounce_period_us = (__u32)debounce_us;
    attribute->mask = 1;
  }
  return 1;
}

/* gpioRequestLine(chipFd, {offset, consumer, eventBuffer, flags, debounceUs, level}): the line's own file, to read, write and poll. */
static napi_value request_line(napi_env env, napi_callback_info info) {
  napi_value args[2], consumer, result;
  size_t count = 2;
  int fd, offset, event_buffer;
  struct gpio_v2_line_request request = {.num_lines = 1};
  napi_get_cb_info(env, info, &count, args, NULL, NULL);
  if (!turnstone_int(env, args[0], &fd) || !int_property(env, args[1], "offset", &offset) ||
      !int_property(env, args[1], "eventBuffer", &event_buffer) || !line_config(env, args[1], &request.config)) return NULL;
  napi_get_named_property(env, args[1], "consumer", &consumer);
  if (!turnstone_string(env, consumer, request.consumer, sizeof request.consumer)) return NULL;
  request.offsets[0] = (__u32)offset;
  request.event_buffer_size = (__u32)event_buffer;
  if (ioctl(fd, GPIO_V2_GET_LINE_IOCTL, &request) < 0) return turnstone_throw_errno(env, "GPIO_V2_GET_LINE", errno);
  napi_create_int32(env, request.fd, &result);
  return result;
}

/* gpioConfigureLine(lineFd, {flags, debounceUs, level}): changes a held line without letting go of it. */
static napi_value configure_line(napi_env env, napi_callback_info info) {
  napi_value args[2];
  size_t count = 2;
  int fd;
  struct gpio_v2_line_config config = {0};
  napi_get_cb_info(env, info, &count, args, NULL, NULL);
  if (!turnstone_int(env, args[0], &fd) || !line_config(env, args[1], &config)) return NULL;
  if (ioctl(fd, GPIO_V2_LINE_SET_CONFIG_IOCTL, &config) < 0) return turnstone_throw_errno(env, "GPIO_V2_LINE_SET_CONFIG", errno);
  return NULL;
}

/* gpioReadLine(lineFd): 0 or 1, after active-low. */
static napi_value read_line(napi_env env, napi_callback_info info) {
  int fd;
  struct gpio_v2_line_values values = {.mask = 1};
  napi_value result;
  if (!int_arguments(env, info, &fd, 1)) return NULL;
  if (ioctl(fd, GPIO_V2_LINE_GET_VALUES_IOCTL, &values) < 0) return turnstone_throw_errno(env, "GPIO_V2_LINE_GET_VALUES", errno);
  napi_create_int32(env, values.bits & 1 ? 1 : 0, &result);
  return result;
}

/* gpioWriteLine(lineFd, level) */
static napi_value write_line(napi_env env, napi_callback_info info) {
  int args[2];
  if (!int_arguments(env, info, args, 2)) return NULL;
  struct gpio_v2_line_values values = {.mask = 1, .bits = args[1] ? 1 : 0};
  if (ioctl(args[0], GPIO_V2_LINE_SET_VALUES_IOCTL, &values) < 0) return turnstone_throw_errno(env, "GPIO_V2_LINE_SET_VALUES", errno);
  return NULL;
}

void turnstone_export_gpio(napi_env env, napi_value exports) {
  turnstone_export(env, exports, "gpioChipInfo", chip_info);
  turnstone_export(env, exports, "gpioLineInfo", line_info);
  turnstone_export(env, exports, "gpioRequestLine", request_line);
  turnstone_export(env, exports, "gpioConfigureLine", configure_line);
  turnstone_export(env, exports, "gpioReadLine", read_line);
  turnstone_export(env, exports, "gpioWriteLine", write_line);
}
