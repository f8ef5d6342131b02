/** `turnstone completion`: a script for a shell, made from the declarations of all commands. */

import { argument, type Call, command } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const ARGUMENTS = { shell: argument(SHELLS.join(', '), { choices: SHELLS }) };
type CompletionCall = Call<Record<never, never>, typeof ARGUMENTS>;

export const COMPLETION = command('completion', {
  says: SENTENCES.completion,
  arguments: ARGUMENTS,
  examples: [
    'completion bash > turnstone.bash             then in a shell: source turnstone.bash',
    'completion zsh > _turnstone                  in a folder of fpath, before compinit',
    'completion fish > turnstone.fish             in ~/.config/fish/completions',
  ],
  run: printCompletion,
});

async function printCompletion({ args, print }: CompletionCall): Promise<void> {
  const { completionScript } = await import('./completion-script.ts');
  print.write(await completionScript(args.shell));
}
