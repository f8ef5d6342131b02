/** Sensors that are not chips: the machine itself, programs, a user's own driver. */
import { z } from 'zod';
import { existingFile, filePath, list, program, programArguments, programWord, section, size, table, text } from './fields.ts';
import { sensorFields } from './sensor-fields.ts';
import { lineFormatFields } from './sensors-serial.ts';

/** A program that prints more than this is not a sensor. */
const DEFAULT_MAX_OUTPUT = '64kB';

const HOST_GROUPS = ['cpu', 'load', 'memory', 'disk', 'temperature', 'network', 'uptime'] as const;

/** Keys such as `cpuPercent`, `load1`, `memoryUsedPercent`, `diskUsedPercent`, `networkReceivedBytes`, `uptimeS`. */
export const host = section({
  ...sensorFields,
  kind: z.literal('host'),
  groups: list(z.enum(HOST_GROUPS), { min: 1 }).default([...HOST_GROUPS]),
  /** Mount points. */
  disks: list(filePath(), { max: 32 }).default(['/']),
  /** Network interfaces; all but the loopback one when not given. */
  interfaces: list(text(/^[^\s/]{1,15}$/, 'the name of a network interface such as eth0'), { max: 32 }).optional(),
});

/** Keys are what the program prints. */
export const command = section({
  ...sensorFields,
  kind: z.literal('command'),
  program: program(),
  arguments: programArguments().default([]),
  environment: table(text(/^[^=\0]+$/, 'the name of a variable'), programWord()).default({}),
  maxOutput: size({ max: '1MB' }).prefault(DEFAULT_MAX_OUTPUT),
  ...lineFormatFields,
});

/** A user's own driver file; what it exports is described in config/examples. */
export const moduleSensor = section({
  ...sensorFields,
  kind: z.literal('module'),
  file: existingFile(),
  /** Given to the driver as it is. */
  options: table(z.string(), z.json().meta({ private: true })).default({}),
});
