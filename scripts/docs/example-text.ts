/** Examples of configurations as pages show them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Head that the examples of all kinds have. */
export const CONFIG_HEAD = `\
version: 1
platform:
  url: https://iot.example.org
provisioning:
  deviceKey: \${PROVISION_KEY} # secrets come from the environment, a file or systemd's credentials
  deviceSecret: \${PROVISION_SECRET}
`;

export interface ExampleFile {
  readonly name: string;
  /** Comment of the first line. */
  readonly caption: string;
  readonly text: string;
}

/** Those in the folder of a kind, the plain one first. */
export function examplesIn(folder: string): readonly ExampleFile[] {
  return readdirSync(folder)
    .filter((name) => /^example.*\.yaml$/.test(name))
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
    .map((name) => {
      const [first = '', ...others] = readFileSync(join(folder, name), 'utf8').split('\n');
      return {
        name,
        caption: first.replace(/^#\s*/, ''),
        text: others.filter((line) => !line.startsWith('# yaml-language-server')).join('\n'),
      };
    });
}

/** Sections of a kind in an example, as they are written. */
export function sectionsIn(
  text: string,
  list: 'sensors' | 'actuators',
  kind: string,
): readonly Readonly<Record<string, unknown>>[] {
  const tree = parse(text) as Readonly<Record<string, readonly Readonly<Record<string, unknown>>[] | undefined>>;
  return (tree[list] ?? []).filter((section) => section.kind === kind);
}
