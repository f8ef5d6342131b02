/* The addon's GPIO part: the kernel's GPIO character device, uAPI v2 (include/uapi/linux/gpio.h). */
#include "turnstone.h"

void turnstone_export_gpio(napi_env env, napi_value exports) {
  (void)env;
  (void)exports;
}
