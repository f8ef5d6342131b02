/* What the parts of the addon share: argument checks and errors that carry errno, as N-API exceptions. */
#ifndef TURNSTONE_H
#define TURNSTONE_H

#include <node_api.h>

/* Throws an Error whose code is the errno name's number, as {errno, syscall} in the message: "gpio-line: EBUSY (16)". */
napi_value turnstone_throw_errno(napi_env env, const char *syscall_name, int error_number);

/* Copies a string argument; throws and returns 0 when it is not a string shorter than size. */
int turnstone_string(napi_env env, napi_value value, char *into, size_t size);

/* Reads an int32 argument; throws and returns 0 when it is not a number. */
int turnstone_int(napi_env env, napi_value value, int *into);

/* Adds a function to the exports. */
void turnstone_export(napi_env env, napi_value exports, const char *name, napi_callback callback);

/* The GPIO character device's part (gpio.c). */
void turnstone_export_gpio(napi_env env, napi_value exports);

/* Pseudo-terminals for the simulated board (pty.c). */
void turnstone_export_pty(napi_env env, napi_value exports);

/* RS-485 lines (serial.c). */
void turnstone_export_serial(napi_env env, napi_value exports);

#endif
