/** Folder of a new driver: a program that works, recorded input, the lines that it is to print, and the section to paste. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { systemCode } from '../errors/agent-error.ts';
import type { DriverLanguage, NewDriverCall } from './commands/driver.ts';
import { usageError } from './exit-code.ts';

export const INPUT_FILE = 'input.txt';
export const EXPECTED_FILE = 'expected.jsonl';
export const SECTION_FILE = 'section.yaml';
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** The agent's own runs TypeScript as it is. */
const NODE = '/opt/turnstone/current/node';
const DEVICE = '/dev/ttyUSB0';

const INPUT = 'T=21.5 H=40\nnoise\nT=21.6 H=41\n';
const EXPECTED = [
  '{"readings": {"temperature": {"value": 21.5, "unit": "°C"}, "humidity": {"value": 40, "unit": "%"}}}',
  '{"readings": {"temperature": {"value": 21.6, "unit": "°C"}, "humidity": {"value": 41, "unit": "%"}}}',
];

const PROGRAMS: Readonly<Record<DriverLanguage, { readonly file: string; readonly text: string }>> = {
  shell: {
    file: 'driver.sh',
    text: `#!/bin/sh
# Reads lines such as "T=21.5 H=40" from the device that the first argument names, and prints readings.
# Words for people go to standard error: echo "…" >&2.
while read -r t h rest; do
  case "$t $h" in
    T=*" "H=*)
      printf '{"readings": {"temperature": {"value": %s, "unit": "°C"}, "humidity": {"value": %s, "unit": "%%"}}}\\n' \\
        "\${t#T=}" "\${h#H=}"
      ;;
    *) echo "not understood: $t $h $rest" >&2 ;;
  esac
done <"$1"
`,
  },
  python: {
    file: 'driver.py',
    text: `#!/usr/bin/env python3
"""Reads lines such as "T=21.5 H=40" from the device that the first argument names, and prints readings."""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8", errors="replace") as device:
    for line in device:
        found = re.match(r"T=(\\S+) H=(\\S+)", line)
        if found is None:
            print("not understood:", line.strip(), file=sys.stderr)
            continue
        readings = {
            "temperature": {"value": float(found[1]), "unit": "°C"},
            "humidity": {"value": float(found[2]), "unit": "%"},
        }
        # flush: the agent reads from a pipe, on which lines are kept back otherwise.
        print(json.dumps({"readings": readings}), flush=True)
`,
  },
  typescript: {
    file: 'driver.ts',
    text: `// Reads lines such as "T=21.5 H=40" from the device that the first argument names, and prints readings. Node runs it as it is.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const device: string = process.argv[2] ?? '';
for await (const line of createInterface({ input: createReadStream(device) })) {
  const found = /^T=(\\S+) H=(\\S+)/.exec(line);
  if (found === null) {
    console.error('not understood:', line);
    continue;
  }
  const readings = {
    temperature: { value: Number(found[1]), unit: '°C' },
    humidity: { value: Number(found[2]), unit: '%' },
  };
  console.log(JSON.stringify({ readings }));
}
`,
  },
};

export async function newDriver({ args, flags, print }: NewDriverCall): Promise<void> {
  const folder = resolve(args.name);
  const name = basename(folder);
  if (!NAME.test(name)) throw usageError(`${name} is no name for a driver`, { nextStep: 'letters, digits, - and _' });
  const { file, text } = PROGRAMS[flags.language];
  try {
    await mkdir(folder);
  } catch (cause) {
    const isThere = systemCode(cause) === 'EEXIST';
    throw usageError(isThere ? `${folder} is there already` : `${folder} cannot be made (${systemCode(cause)})`);
  }
  const place = `/usr/local/lib/turnstone-drivers/${name}/${file}`;
  const files: Readonly<Record<string, string>> = {
    [file]: text,
    [INPUT_FILE]: INPUT,
    [EXPECTED_FILE]: `${EXPECTED.join('\n')}\n`,
    [SECTION_FILE]: sectionText(name, flags.language === 'typescript' ? [NODE, place] : [place]),
    'README.md': readmeText(name, file),
  };
  for (const [one, content] of Object.entries(files)) await writeFile(join(folder, one), content, { flag: 'wx' });
  await chmod(join(folder, file), 0o755);
  print.result({ folder, program: file }, () => `${folder} is made. Try it: turnstone driver test ${args.name}\n`);
}

function sectionText(name: string, words: readonly string[]): string {
  const [program, ...first] = words;
  return `# To paste into the configuration.
sensors:
  - name: ${name}
    kind: process
    program: ${program}
    arguments: [${[...first, DEVICE].join(', ')}]
    period: 1m
    deadline: 10s
`;
}

function readmeText(name: string, file: string): string {
  return `# ${name}

\`${file}\` reads its device and prints a line of JSON for each set of readings, for as long as it runs.

* \`${INPUT_FILE}\`: what the device sent once; \`${EXPECTED_FILE}\`: the lines that the program makes of it.
* \`turnstone driver test .\` gives the program the input in place of ${DEVICE} and compares.
* Install: \`sudo install -D -m 755 ${file} /usr/local/lib/turnstone-drivers/${name}/${file}\`
* Paste \`${SECTION_FILE}\` into /etc/turnstone/turnstone.yaml, then \`turnstone check-config\` and reload.
* \`{"fault": "no signal"}\` makes the sensor fail with these words; standard error goes to the log.
`;
}
