/** Where the examples of a configuration lie in the sources, each under the name that it has in a release's config/examples. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './bundle.ts';

export interface Example {
  /** `bh1750.yaml`, `modbus-tcp.yaml`, `tank-level.mjs`. */
  readonly name: string;
  readonly path: string;
}

const KINDS = ['src/sensors', 'src/actuators'].map((folder) => join(ROOT, folder));

/** Those of a kind lie in its folder, and so does what they need: `command/example-actuator.yaml` is `command-actuator.yaml`. */
export function examples(): readonly Example[] {
  const all = KINDS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((path): Example[] => {
      const [, kind = '', file = ''] = /^([^/]+)\/([^/]+)$/.exec(path) ?? [];
      const [, variant] = /^example(.*\.yaml)$/.exec(file) ?? [];
      if (variant === undefined && !file.endsWith('.mjs')) return [];
      return [{ name: variant === undefined ? file : `${kind}${variant}`, path: join(folder, path) }];
    }),
  );
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** As it is delivered: with the schema beside it. */
export function exampleText({ path }: Example): string {
  return readFileSync(path, 'utf8').replace('=../../../config/turnstone.schema.json', '=../turnstone.schema.json');
}
