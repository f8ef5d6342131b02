/**
 * Calls between the agent and a driver's process, both ways, as JSON lines. What has methods stays where it is and is called by a number; bytes,
 * functions, errors and numbers that JSON does not have are tagged. Each side calls only what the other has offered or handed over; what was
 * handed over is closed at the end, whatever the other side came to: a line that a killed driver held is free for the next.
 *
 *   {call, target, method, args} ──► {answer, result | error}      {abort: call}
 */

import type { JsonLink } from '../../host/json-link.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/json.ts';
import { errorAsJson, errorOf } from './peer-errors.ts';

type Callable = (...args: unknown[]) => unknown;

/** Objects that one side keeps for the other. */
const MAX_KEPT = 1_000;
const MAX_CALLS = 256;
const MAX_DEPTH = 16;
/** Bytes that the other side has not read yet. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** Methods that call back from then on, and give at once the function that ends it. */
const SUBSCRIPTIONS: ReadonlySet<string> = new Set(['onBytes', 'onPlug', 'watch']);

export class Peer {
  /** Resolves when the link has ended. */
  readonly ended: Promise<void>;
  readonly #link: JsonLink;
  /** Offered by name, or handed over by number. */
  readonly #kept = new Map<string, object>();
  readonly #calls = new Map<
    string,
    { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void }
  >();
  readonly #answering = new Map<string, AbortController>();
  #next = 0;
  #end: Error | undefined;
  #givenBack: Promise<unknown> = Promise.resolve();

  /** `howEnded` words why the link has ended; asked once it has. */
  constructor(
    link: JsonLink,
    offered: Readonly<Record<string, object>>,
    howEnded = async (): Promise<string> => 'its process has ended',
  ) {
    this.#link = link;
    for (const [name, target] of Object.entries(offered)) this.#kept.set(name, target);
    this.ended = new Promise((resolve) =>
      link.listen({
        message: (message) => this.#receiveMessage(message),
        end: () => {
          void howEnded()
            .then((how) => this.end(new Error(how)))
            .then(resolve);
        },
      }),
    );
  }

  /** @throws what the other side throws, an AgentError as one; Error when the link ends. */
  call(target: string, method: string, args: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) return reject(this.#end);
      if (this.#calls.size >= MAX_CALLS) return reject(new Error(`more than ${MAX_CALLS} calls wait`));
      const id = String(this.#next++);
      const abort = (): void => this.#send({ abort: id });
      const settle =
        <Value>(settled: (value: Value) => void) =>
        (value: Value): void => {
          this.#calls.delete(id);
          signal?.removeEventListener('abort', abort);
          settled(value);
        };
      const encoded = args.map((one) => this.#encode(one, 0));
      this.#calls.set(id, { resolve: settle(resolve), reject: settle(reject) });
      this.#send({ call: id, target, method, args: encoded });
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Calls under way fail with this reason; resolves when what was handed over is closed. Idempotent; never rejects. */
  async end(reason: Error): Promise<void> {
    if (this.#end === undefined) {
      this.#end = reason;
      for (const { reject } of [...this.#calls.values()]) reject(reason);
      for (const controller of this.#answering.values()) controller.abort();
      this.#link.close();
      this.#givenBack = Promise.all(
        [...this.#kept].map(([id, one]) => (id.startsWith('#') ? giveBack(one) : undefined)),
      );
      this.#kept.clear();
    }
    await this.#givenBack;
  }

  #send(message: JsonObject): void {
    if (this.#link.socket.writableLength > MAX_UNREAD_BYTES) void this.end(new Error('it reads nothing'));
    else this.#link.send(message);
  }

  #receiveMessage({ call, abort, answer, target, method, args, result, error }: JsonObject): void {
    if (typeof abort === 'string') this.#answering.get(abort)?.abort();
    else if (typeof answer === 'string' && error !== undefined) this.#calls.get(answer)?.reject(errorOf(error));
    else if (typeof answer === 'string') this.#calls.get(answer)?.resolve(this.#decode(result ?? null));
    else if (typeof call === 'string')
      void this.#answer(call, { target: String(target), method: String(method), args: args ?? [] });
  }

  async #answer(call: string, { target, method, args = [] }: JsonObject): Promise<void> {
    const controller = new AbortController();
    try {
      if (this.#answering.size >= MAX_CALLS) throw new Error(`more than ${MAX_CALLS} calls are under way`);
      this.#answering.set(call, controller);
      const owner = this.#kept.get(String(target));
      const called = owner === undefined ? undefined : method === '' ? owner : methodOf(owner, String(method));
      if (typeof called !== 'function') throw new Error(`there is no ${String(target)}.${String(method)}`);
      const given = (Array.isArray(args) ? args : []).map((one) => this.#decode(one, controller.signal));
      const result = await (called as Callable).apply(owner, given);
      if (this.#end !== undefined) return await giveBack(result);
      this.#send({
        answer: call,
        result: typeof result === 'function' ? this.#once(result as Callable) : this.#encode(result, 0),
      });
    } catch (fault) {
      this.#send({ answer: call, error: errorAsJson(fault) });
    } finally {
      this.#answering.delete(call);
      if (method === 'close') this.#kept.delete(String(target));
    }
  }

  #keep(target: object): string {
    if (this.#kept.size >= MAX_KEPT) throw new Error(`more than ${MAX_KEPT} objects are handed over`);
    const id = `#${this.#next++}`;
    this.#kept.set(id, target);
    return id;
  }

  /** A function that ends a subscription is called once. */
  #once(end: Callable): JsonValue {
    const id = this.#keep(() => {
      this.#kept.delete(id);
      return end();
    });
    return { $: 'function', id };
  }

  #encode(value: unknown, depth: number): JsonValue {
    if (depth > MAX_DEPTH) throw new Error(`nested more than ${MAX_DEPTH} deep`);
    if (value === undefined) return { $: 'undefined' };
    if (typeof value === 'number' && !Number.isFinite(value)) return { $: 'number', v: String(value) };
    // Functions within data are data: a driver's readings hand nothing over.
    if (typeof value === 'function') return depth === 0 ? { $: 'function', id: this.#keep(value) } : null;
    if (typeof value !== 'object' || value === null) return typeof value === 'symbol' ? null : (value as JsonValue);
    if (value instanceof AbortSignal) return { $: 'signal' };
    if (value instanceof Uint8Array)
      return { $: 'bytes', v: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
    if (Array.isArray(value)) return value.map((one) => this.#encode(one, depth + 1));
    const methods = depth === 0 ? methodsOf(value) : [];
    const values = Object.entries(valuesOf(value)).filter(([, one]) =>
      methods.length === 0 ? typeof one !== 'function' : typeof one !== 'object',
    );
    const v = Object.fromEntries(values.map(([key, one]) => [key, this.#encode(one, depth + 1)]));
    return methods.length === 0 ? { $: 'plain', v } : { $: 'object', id: this.#keep(value), methods: [...methods], v };
  }

  #decode(value: JsonValue, signal?: AbortSignal): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#decode(one, signal));
    if (!isJsonObject(value)) return value;
    const { $: tag, v, id, methods } = value;
    if (tag === 'undefined') return undefined;
    if (tag === 'number') return Number(v);
    if (tag === 'bytes') return Buffer.from(String(v), 'base64');
    if (tag === 'signal') return signal;
    if (tag === 'function') return (...args: unknown[]) => void this.call(String(id), '', args).catch(() => {});
    const plain = Object.fromEntries(
      Object.entries(isJsonObject(v) ? v : {}).map(([key, one]) => [key, this.#decode(one ?? null, signal)]),
    );
    return tag === 'object' && Array.isArray(methods) ? this.#stub(String(id), methods.map(String), plain) : plain;
  }

  /** Stands for an object of the other side. */
  #stub(target: string, methods: readonly string[], values: Record<string, unknown>): object {
    const stub: Record<string, unknown> = values;
    const ends = new Set<() => void>();
    for (const method of methods)
      stub[method] = SUBSCRIPTIONS.has(method) ? this.#subscription(target, method, ends) : this.method(target, method);
    const close = stub.close as Callable | undefined;
    if (close !== undefined)
      stub.close = (...args: unknown[]) => {
        for (const end of ends) end();
        return close(...args);
      };
    // It changes by itself.
    if (typeof values.plugged === 'boolean')
      (stub.onPlug as Callable | undefined)?.((plugged: unknown) => {
        stub.plugged = plugged;
      });
    return stub;
  }

  /** A method of the other side; its last argument may be a signal. */
  method(target: string, method: string): Callable {
    return (...args) =>
      this.call(
        target,
        method,
        args,
        args.find((one) => one instanceof AbortSignal),
      );
  }

  #subscription(target: string, method: string, ends: Set<() => void>): Callable {
    return (listener) => {
      const told = (...args: unknown[]): unknown => (listener as Callable)(...args);
      const begun = this.call(target, method, [told]);
      begun.catch(() => {});
      const end = (): void => {
        if (!ends.delete(end)) return;
        for (const [id, one] of this.#kept) if (one === told) this.#kept.delete(id);
        void begun.then((stop) => (stop as Callable)()).catch(() => {});
      };
      ends.add(end);
      return end;
    };
  }
}

/** Own methods and those of its classes, none that every object has. */
export function methodsOf(value: object): readonly string[] {
  const found = new Set<string>();
  for (
    let at: object | null = value;
    at !== null && at !== Object.prototype && at !== Function.prototype;
    at = Object.getPrototypeOf(at)
  )
    for (const [name, { value: one }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof one === 'function' && name !== 'constructor') found.add(name);
  return [...found];
}

/** Never rejects: the other side can no longer be told. */
async function giveBack(one: unknown): Promise<void> {
  const close = typeof one === 'object' && one !== null ? methodOf(one, 'close') : undefined;
  if (typeof close === 'function') await (async () => close.call(one))().catch(() => {});
}

function methodOf(owner: object, method: string): unknown {
  return methodsOf(owner).includes(method) ? (owner as Readonly<Record<string, unknown>>)[method] : undefined;
}

/** Own values, and what its classes' getters give. */
function valuesOf(value: object): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (let at: object | null = value; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const [name, { value: one, get }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (!Object.hasOwn(values, name) && name !== '__proto__') {
        if (get !== undefined) values[name] = get.call(value);
        else if (typeof one !== 'function') values[name] = one;
      }
  return values;
}
