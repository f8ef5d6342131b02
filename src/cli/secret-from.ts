/** A secret that a command needs: from a file, or asked for without echo; never from the command line, which every user of the machine can read. */
import { readUserFile } from '../host/durable-file.ts';
import type { Edge } from './edge.ts';
import { usageError } from './exit-code.ts';

const MAX_SECRET_BYTES = 4_096;

/** @throws CommandError (usage) when there is none. */
export async function secretFrom(file: string | undefined, question: string, edge: Edge): Promise<string> {
  const given = file === undefined ? await edge.ask(question, { hidden: true }) : await secretInFile(file);
  const secret = given.trim();
  if (secret !== '') return secret;
  throw usageError(file === undefined ? 'nothing was entered' : `${file} is empty`);
}

async function secretInFile(file: string): Promise<string> {
  const bytes = await readUserFile(file, MAX_SECRET_BYTES);
  if (bytes === undefined) throw usageError(`there is no file ${file}`);
  return bytes.toString('utf8');
}
