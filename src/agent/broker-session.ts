/** Id of the session that brokers of the site keep for this gateway: made of its name, the same at every start. */
import { createHash } from 'node:crypto';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { deviceNameOf } from '../devices/device-name.ts';
import type { BoardIdentity, IdentitySources } from '../host/identity.ts';

/** Characters of a client id: every broker takes letters, digits and -, and few take more than 64 of them. */
const MAX_NAME_LENGTH = 40;
/** Name of a gateway with an access token, which only the platform knows. */
const NAME_WITHOUT_PROVISIONING = '{hostname}-{machineId|mac|serial|hostname}';

/** Returns a function that reads the board's identity once. */
export function brokerSession(
  { provisioning, runFolder }: Pick<AgentConfig, 'provisioning' | 'runFolder'>,
  readIdentity: (sources: IdentitySources) => Promise<BoardIdentity>,
): () => Promise<string> {
  let id: Promise<string> | undefined;
  const make = async (): Promise<string> => {
    const board = await readIdentity({ runFolder });
    return sessionIdOf(deviceNameOf(provisioning?.deviceName ?? NAME_WITHOUT_PROVISIONING, board));
  };
  return () => {
    id ??= make().catch((error: unknown) => {
      id = undefined;
      throw error;
    });
    return id;
  };
}

function sessionIdOf(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9-]+/g, '-').slice(0, MAX_NAME_LENGTH);
  const isWhole = plain === name;
  return `turnstone-${plain}${isWhole ? '' : `-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`}`;
}
