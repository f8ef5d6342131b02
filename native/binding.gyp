{
  "targets": [
    {
      "target_name": "turnstone",
      "sources": ["host.c", "gpio.c", "pty.c", "serial.c"],
      "cflags": ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-O2"],
      "defines": ["NAPI_VERSION=8"]
    }
  ]
}
