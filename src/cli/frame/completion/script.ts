/** Completion scripts of the three shells. A script holds all it offers: pressing the key starts no agent program. */
import { allCommands } from '../overview.ts';
import { surfaceOf } from '../surface.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

export async function completionScript(shell: keyof typeof SCRIPTS): Promise<string> {
  return SCRIPTS[shell](surfaceOf(await allCommands()));
}
