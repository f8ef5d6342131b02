/** Completion scripts of the three shells. A script holds all it offers: pressing the key starts no agent program. */

import { bashScript } from './bash-completion.ts';
import { fishScript } from './fish-completion.ts';
import { allCommands } from './overview.ts';
import { surfaceOf } from './surface.ts';
import { zshScript } from './zsh-completion.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

export async function completionScript(shell: keyof typeof SCRIPTS): Promise<string> {
  return SCRIPTS[shell](surfaceOf(await allCommands()));
}
