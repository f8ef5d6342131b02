/**
 * Writes build/man: turnstone(1) from the commands, turnstone.yaml(5) from the schema of the configuration.
 *
 *   npm run man
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { completionScript } from '../src/cli/frame/completion-script.ts';
import { ROOT } from './bundle.ts';
import { commandPage } from './man/command-page.ts';
import { configurationPage } from './man/configuration-page.ts';

/** Name of each shell's file as the shell looks for it. */
const COMPLETIONS = { bash: 'turnstone', zsh: '_turnstone', fish: 'turnstone.fish' } as const;

/** Every page by its file name. */
export async function manualPages(version: string): Promise<Readonly<Record<string, string>>> {
  return { 'turnstone.1': await commandPage(version), 'turnstone.yaml.5': configurationPage(version) };
}

/** Writes `man/` and `completions/` into a release's folder. */
export async function addTerminalFiles(folder: string, version: string): Promise<void> {
  writeAll(join(folder, 'man'), await manualPages(version));
  for (const [shell, file] of Object.entries(COMPLETIONS))
    writeAll(join(folder, 'completions'), {
      [join(shell, file)]: await completionScript(shell as keyof typeof COMPLETIONS),
    });
}

function writeAll(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

if (import.meta.main) {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
  writeAll(join(ROOT, 'build/man'), await manualPages(version));
  console.log('build/man: turnstone.1, turnstone.yaml.5');
}
