/** Members that do not exist are faults of the compiler: in an answer of the agent, and in what the parts of the agent are given. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

/** Returns the compiler's faults in a file of the project: code and message. */
async function faultsOf(text: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-compiled-'));
  try {
    const compilerOptions = { typeRoots: [join(ROOT, 'node_modules/@types')], noUnusedLocals: false };
    const project = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['case.mts'] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(project));
    await writeFile(join(folder, 'case.mts'), text);
    const compiler = join(ROOT, 'node_modules/typescript/lib/tsc.js');
    const { stdout } = await promisify(execFile)(process.execPath, [compiler, '-p', folder]).catch(
      (fault: { readonly stdout: string }) => fault,
    );
    return stdout
      .split('\n')
      .filter((line) => line.includes('error TS'))
      .map((line) => line.replace(/^.*case\.mts\(\d+,\d+\): error /, ''));
  } finally {
    await rm(folder, { recursive: true });
  }
}

it('refuses a member of an answer, an operation and a part that do not exist, and nothing else', {
  timeout: 120_000,
}, async () => {
  const text = `
    import type { AgentCalls } from '${ROOT}/src/cli/agent-calls.ts';
    import type { slotCommands } from '${ROOT}/src/agent/slot-commands.ts';

    export async function ages({ ask }: AgentCalls): Promise<readonly number[]> {
      const { nowMs, startedAtMs, upSince } = await ask('getStatus');
      const { value, desired } = await ask('setActuator', { name: 'pump', value: true });
      await ask('getStatos');
      return [nowMs - startedAtMs, upSince, Number(value), Number(desired)];
    }

    export const deps: Partial<Parameters<typeof slotCommands>[0]> = { onComand: () => {} };
  `;
  expect(await faultsOf(text)).toEqual([
    expect.stringMatching(/^TS2339: Property 'upSince' does not exist on type 'AgentStatus'/),
    expect.stringMatching(/^TS2339: Property 'desired' does not exist on type 'OutputAnswer'/),
    expect.stringMatching(/^TS2345: Argument of type '"getStatos"'/),
    expect.stringMatching(/^TS2561: .*'onComand' does not exist .* Did you mean to write 'onCommand'/),
  ]);
});
