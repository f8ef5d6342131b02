/** The bytes of a configuration file, before anything is made of them. */
import { AgentError, messageOf } from '../errors/agent-error.ts';
import { readUserFile } from '../host/durable-file.ts';

/** @throws AgentError `config/unreadable`: retry for what a disk or a right may mend, else stop. */
export async function readConfigBytes(path: string): Promise<Uint8Array> {
  const content = await readUserFile(path).catch((cause: unknown) => {
    // A disk or a right may be mended by itself; what is no file, or far too large for one, is not.
    const recovery = cause instanceof AgentError && cause.recovery === 'retry' ? 'retry' : 'stop';
    throw new AgentError('config/unreadable', `no configuration: ${messageOf(cause)}`, { recovery, cause });
  });
  if (content === undefined) throw new AgentError('config/unreadable', `there is no configuration ${path}`, { recovery: 'stop' });
  return content;
}
