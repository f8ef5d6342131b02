/** Persistent RPC as the platform's database knows them: each change goes to the journal, and those that wait outlive the process. */
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';

export type PersistentStatus = 'QUEUED' | 'DELIVERED' | 'SUCCESSFUL' | 'EXPIRED';

export interface PersistentRpc {
  readonly rpcId: string;
  readonly deviceId: string;
  readonly createdMs: number;
  readonly expirationMs: number;
  /** `{method, params, oneway}` */
  readonly request: JsonObject;
  readonly status: PersistentStatus;
  readonly response: JsonValue;
}

export class PersistentRpcs {
  readonly #record: (record: JsonObject) => void;
  readonly #rpcs = new Map<string, PersistentRpc>();

  /** `record` writes to the journal. */
  constructor(record: (record: JsonObject) => void) {
    this.#record = record;
  }

  /** In the order in which they were made. */
  get all(): readonly PersistentRpc[] {
    return [...this.#rpcs.values()];
  }

  byId(rpcId: string): PersistentRpc | undefined {
    return this.#rpcs.get(rpcId);
  }

  add(rpc: PersistentRpc): void {
    this.#rpcs.set(rpc.rpcId, rpc);
    this.#record({ t: 'rpc', rpc: { ...rpc } });
  }

  /** Nothing, for one that was deleted meanwhile. */
  change({ rpcId }: PersistentRpc, change: Partial<Pick<PersistentRpc, 'status' | 'response'>>): void {
    const rpc = this.#rpcs.get(rpcId);
    if (rpc !== undefined) this.add({ ...rpc, ...change });
  }

  remove(rpcId: string): boolean {
    this.#record({ t: 'rpc-gone', id: rpcId });
    return this.#rpcs.delete(rpcId);
  }

  forget(deviceId: string): void {
    for (const { rpcId } of this.all.filter((rpc) => rpc.deviceId === deviceId)) this.remove(rpcId);
  }

  /** Takes back what a data folder's journal says. */
  replay(record: JsonObject): void {
    if (record.t === 'rpc' && isJsonObject(record.rpc)) {
      // `add` wrote it, in this very form.
      const rpc = record.rpc as unknown as PersistentRpc;
      this.#rpcs.set(rpc.rpcId, rpc);
    } else if (record.t === 'rpc-gone' && typeof record.id === 'string') this.#rpcs.delete(record.id);
  }
}

export function isQueued({ status }: PersistentRpc): boolean {
  return status === 'QUEUED';
}
