import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

const path = (name: string): string => new URL(`../../${name}`, import.meta.url).pathname;
const EXAMPLE = path('../config/turnstone.example.yaml');
const WRONG = path('fixtures/config/unknown-key.yaml');

async function check(...words: string[]) {
  const edge = fakeEdge();
  const exitCode = await runCommandLine(['check-config', ...words], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

describe('turnstone check-config', () => {
  it('says that a good configuration is good', async () => {
    const { exitCode, out, err } = await check(EXAMPLE);
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.ok, err: '' });
    expect(out).toContain(`${EXAMPLE}: good`);
  });

  it('prints a fault a line, in a form that editors can jump to, and ends with 78', async () => {
    const { exitCode, out, err } = await check(WRONG);
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.badConfig, err: '' });
    expect(out.split('\n').filter((line) => line.startsWith(`fault   ${WRONG}:`))).toHaveLength(3);
    expect(out).toContain(`${WRONG}:11:5: sensors[0].perod: unknown key "perod"`);
    expect(out).toContain(`${WRONG}: 3 faults`);
  });

  it('prints the same as JSON', async () => {
    const { exitCode, out } = await check(WRONG, '--json');
    expect(exitCode).toBe(EXIT.badConfig);
    const answer = JSON.parse(out);
    expect(answer).toMatchObject({ file: WRONG, ok: false });
    expect(answer.faults).toContainEqual(
      expect.objectContaining({ line: 11, column: 5, path: 'sensors[0].perod', hint: 'did you mean "period"?' }),
    );
    expect(JSON.parse((await check(EXAMPLE, '--json')).out)).toMatchObject({
      ok: true,
      faults: [],
      hash: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });

  it('says in one line that there is no such file', async () => {
    expect(await check('/nonexistent.yaml')).toEqual({
      exitCode: EXIT.badConfig,
      out: '',
      err: 'turnstone: there is no configuration /nonexistent.yaml\n',
    });
  });
});
