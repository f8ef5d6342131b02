/**
 * One request at a time on each connection of a server, so that its connections bound what it has under way. A client may have an answer whole
 * before the server has seen that it is written: its next request waits. Whoever sends one more is cut off, as a few kilobytes of requests would
 * be as many answers in memory. Browsers, scrapers and agents never do.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Hands the server's requests to the listener. */
export function serveOneAtATime(server: Server, listener: RequestListener): void {
  const busy = new Set<Socket>();
  const waiting = new Map<Socket, () => void>();
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    busy.add(socket);
    response.once('close', () => {
      busy.delete(socket);
      const next = waiting.get(socket);
      waiting.delete(socket);
      if (!socket.destroyed) next?.();
    });
    listener(request, response);
  };
  const admit = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    // The rest of the piece in which they came is still parsed.
    if (socket.destroyed) return;
    if (!busy.has(socket)) serve(request, response);
    else if (waiting.has(socket)) socket.destroy();
    else waiting.set(socket, () => serve(request, response));
  };
  server.on('request', admit);
  // An expectation that nobody knows is served like any other request: Node's own refusal would pass by here.
  server.on('checkExpectation', admit);
}
