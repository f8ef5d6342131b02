/** A copy of the project in which one file has a fault: everything else is the same file, so that it costs no room and no time. */
import { cpSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type PlantedFault, PROJECT, withFault } from './fault.ts';

const COPIED = ['src', 'test/simulation', 'test/support', 'config'];

export class PlantedTree {
  readonly folder: string;

  constructor(fault: PlantedFault) {
    const text = withFault(fault);
    this.folder = mkdtempSync(join(tmpdir(), 'turnstone-planted-'));
    for (const folder of COPIED) this.#copy(folder);
    for (const name of ['package.json', 'tsconfig.json']) cpSync(join(PROJECT, name), join(this.folder, name));
    for (const name of ['node_modules', 'native']) symlinkSync(join(PROJECT, name), join(this.folder, name));
    const file = join(this.folder, 'src', fault.file);
    rmSync(file);
    writeFileSync(file, text);
  }

  get worker(): URL {
    return pathToFileURL(join(this.folder, 'test/simulation/worker.ts'));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #copy(folder: string): void {
    for (const entry of readdirSync(join(PROJECT, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const from = join(entry.parentPath, entry.name);
      const to = join(this.folder, from.slice(PROJECT.length));
      mkdirSync(dirname(to), { recursive: true });
      try {
        linkSync(from, to);
      } catch {
        cpSync(from, to);
      }
    }
  }
}
