/** A turn of the event loop: what others have to do at once is done before it comes round. It takes no time that a clock would show. */

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
