import { createHash } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { guardLines } from '../../../src/firmware/guard-state.ts';
import { noteConfig } from '../../../src/firmware/noted-config.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

let disk: MemoryFiles;
beforeEach(() => {
  disk = new MemoryFiles();
});

function note(text: string) {
  disk.put('/etc/turnstone/turnstone.yaml', text);
  return noteConfig(updateFiles(disk), '/etc/turnstone');
}

function sumOf(...contents: readonly string[]): string {
  return createHash('sha256').update(contents.join('')).digest('hex');
}

it('sums up the text and the files that a start needs, in whatever way they are written', async () => {
  const names = ['a.mjs', 'b c.pem', 'd.pem', 'e.key', 'f'];
  for (const name of names) disk.put(`/x/${name}`, `of ${name}`);
  const text = [
    '- file: /x/a.mjs # a driver',
    '- {caFile: "/x/b c.pem", clientCertificateFile: \'/x/d.pem\'}',
    '"clientKeyFile":   /x/e.key',
    'accessTokenFile: /x/f',
    '- file: /x/a.mjs',
    'port: /x/a.mjs',
    'profile: /x/a.mjs',
  ].join('\n');
  expect(await note(text)).toEqual({ config: sumOf(text, ...names.map((name) => `of ${name}`)), file: names.map((name) => `/x/${name}`) });
});

it('finds a credential where the unit reads it from', async () => {
  disk.put('/etc/turnstone/credentials/token', 'secret');
  const text = 'accessTokenCredential: turnstone_token\nproxyCredential: ../../shadow\n';
  expect(await note(text)).toEqual({ config: sumOf(text, 'secret'), file: ['/etc/turnstone/credentials/token'] });
});

it('passes over what is not there, no absolute path, too long for a line or would break it', async () => {
  const long = `/x/${'y'.repeat(254)}`;
  for (const path of [long, '/x/bell\u0007', '/x/a']) disk.put(path, 'content');
  const text = `file: ${long}\nfile: "/x/bell\u0007"\nfile: x/a\nfile: /x/none\nfile: /x/a\n`;
  expect(await note(text)).toEqual({ config: sumOf(text, 'content'), file: ['/x/a'] });
  expect(await note('version: 1\n')).toEqual({ config: sumOf('version: 1\n') });
});

it('is bounded: eight files, 256 KiB of each, and a trial of 4 KiB', async () => {
  const paths = Array.from({ length: 9 }, (_, at) => `/${String(at).repeat(255)}`);
  for (const path of paths) disk.put(path, 'x'.repeat(262_145));
  const text = paths.map((path) => `file: ${path}\n`).join('');
  const noted = await note(text);
  expect(noted).toEqual({ config: sumOf(text, 'x'.repeat(8 * 262_144)), file: paths.slice(0, 8) });
  const trial = guardLines({ id: 'i'.repeat(64), version: 'v'.repeat(64), previous: 'v'.repeat(64), ...noted });
  expect(trial.split('\n').filter((line) => line.startsWith('file=/'))).toEqual(noted.file?.map((path) => `file=${path}`));
  expect(trial.length).toBeLessThan(4_096);
});

it('notes nothing of a configuration that cannot be read', async () => {
  expect(await noteConfig(updateFiles(disk), '/etc/turnstone')).toEqual({});
});
