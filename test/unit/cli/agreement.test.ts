/** check-config and run are fed the same files: what one refuses the other does not live with, and both say where. */
import { mkdtempSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CommandError, EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { type ConfigFault, faultLine } from '../../../src/config/fields/config-fault.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { manyConfigurations, type OneConfiguration } from '../../support/many-configurations.ts';

const ENVIRONMENT = { PROVISION_KEY: 'fixture-key', PROVISION_SECRET: 'fixture-secret' };
/** Said in place of opening anything: the agent hands over its filter when it has taken the configuration. */
const ACCEPTED = 'the configuration is accepted';

const folder = mkdtempSync(join(tmpdir(), 'turnstone-agreement-'));
const file = join(folder, 'turnstone.yaml');
// The agent logs hardware that is not there.
beforeAll(() => void vi.spyOn(process.stdout, 'write').mockReturnValue(true));
afterAll(() => vi.restoreAllMocks());
afterAll(() => rm(folder, { recursive: true, force: true }));

function upToTheStart(): void {
  throw new CommandError(ACCEPTED);
}

async function command(words: readonly string[], redactWith = upToTheStart) {
  const edge = fakeEdge({ environment: ENVIRONMENT });
  // Whoever starts is told to stop, which it does once everything is open.
  edge.stop();
  const exitCode = await runCommandLine(words, { edge: { ...edge, redactWith }, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

/** Returns the disagreements about one file. */
async function quarrels({ text, isGood, at, canStart = false }: OneConfiguration): Promise<readonly string[]> {
  await writeFile(file, text, { mode: 0o600 });
  const checked = await command(['check-config', file, '--json']);
  const ran = await command(['run', '--config', file]);
  if (isGood) {
    const isTaken = ran.exitCode === EXIT.failure && ran.err === `turnstone: ${ACCEPTED}\n`;
    const started = canStart ? await command(['run', '--config', file], () => {}) : undefined;
    return [
      ...(checked.exitCode === EXIT.ok ? [] : [checked.out + checked.err]),
      ...(isTaken ? [] : [`run: ${ran.err}`]),
      ...(started === undefined || started.exitCode === EXIT.ok ? [] : [`a start: ${started.err}`]),
    ];
  }
  const codes = [checked.exitCode, ran.exitCode].filter((code) => code !== EXIT.badConfig);
  if (codes.length > 0) return [`check-config ends with ${checked.exitCode}, run with ${ran.exitCode}: ${ran.err}`];
  // A file that cannot even be read has no places.
  if (checked.out === '') {
    const { code, message } = (
      JSON.parse(checked.err) as { readonly error: Readonly<Record<'code' | 'message', string>> }
    ).error;
    const isSame = ran.err === `turnstone: ${message} (${code})\n` && message.includes('no configuration');
    return isSame ? [] : [`${checked.err} is not ${ran.err}`];
  }
  const { faults } = JSON.parse(checked.out) as { readonly faults: readonly ConfigFault[] };
  const told = faults.map((fault) => faultLine(file, fault));
  const lines = text.toString().split('\n');
  const misplaced = faults.filter(
    ({ line, column }) => line < 1 || line > lines.length || column < 1 || column > (lines[line - 1]?.length ?? 0) + 1,
  );
  const isMeant =
    at === undefined ||
    faults.some(({ path }) =>
      [path, ...path.split(/(?=[.[])/).map((_, end, all) => all.slice(0, end).join(''))].includes(at),
    );
  return [
    ...(ran.err.trimEnd().split('\n').slice(1).join('\n') === told.join('\n')
      ? []
      : [`check-config says ${told.join('\n')}, run ${ran.err}`]),
    ...misplaced.map((fault) => `no such place: ${faultLine('', fault)}`),
    ...(isMeant ? [] : [`nothing is said of ${at}, but ${told.join('\n')}`]),
  ];
}

/** The folder is made before the tests are: their names are those of the files. */
const ALL = manyConfigurations(folder);
const ABOUT = Map.groupBy(ALL, ({ at, name }) =>
  (at ?? (name.endsWith('.yaml') ? 'examples' : 'damage')).replace(/^(\w+\[\d+\]|\w+).*/, '$1'),
);

describe('check-config and run say the same, with 78 and place,', () => {
  it('of 300 files', () => {
    expect(ALL.length).toBeGreaterThanOrEqual(300);
    expect(ALL.filter(({ isGood }) => isGood).length).toBeGreaterThan(80);
  });

  it.each([...ABOUT])('about %s', async (_what, files) => {
    const found: string[] = [];
    for (const one of files) found.push(...(await quarrels(one)).map((quarrel) => `${one.name}: ${quarrel}`));
    expect(found).toEqual([]);
  });
});
