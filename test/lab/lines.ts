/** The lines that a guest writes to a connection, up to the moment at which the guest is cut off. */
import type { Socket } from 'node:net';
import { createInterface, type Interface } from 'node:readline';

/** A machine without power resets its connections: an end like any other. The reader of lines tells of it a second time. */
export function linesOf(socket: Socket): Interface {
  const lines = createInterface({ input: socket });
  for (const each of [socket, lines]) each.on('error', () => undefined);
  return lines;
}
