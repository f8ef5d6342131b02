/** A prompt in a booted guest: `scripts/lab.sh --shell`. The checkout is at /lab; `exit` or Ctrl-A X ends the machine. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accelerator, machineArguments } from './machine.ts';

const folder = mkdtempSync(join(tmpdir(), 'lab-'));
const words = machineArguments({ init: 'shell' }, folder, accelerator()).map((word) =>
  word === 'stdio' ? 'mon:stdio' : word,
);
const { status } = spawnSync('qemu-system-x86_64', words, { stdio: 'inherit' });
rmSync(folder, { recursive: true, force: true });
process.exitCode = status ?? 1;
