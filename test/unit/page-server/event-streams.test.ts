import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { EventStreams } from '../../../src/page-server/event-streams.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** An answer that nobody takes: all that is written stays in it. */
function untaken(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

describe('EventStreams', () => {
  it('cuts off a page that takes nothing, before it holds much memory', async () => {
    const clock = new FakeClock();
    const streams = new EventStreams({ clock, tick: () => 'x'.repeat(100_000) });
    const page = untaken();
    streams.openStream(page, '', () => true);
    await clock.advance(3_000);
    expect(page.destroyed).toBe(false);
    await clock.advance(1_000);
    expect(page.destroyed).toBe(true);
    expect(page.writableLength).toBeLessThan(512 * 1024);
    streams.close();
  });

  it('ends the stream of a reader who may look no longer, before its next event', async () => {
    const clock = new FakeClock();
    const streams = new EventStreams({ clock, tick: () => 'event' });
    const [page, other] = [untaken(), untaken()];
    let mayLook = true;
    streams.openStream(page, '', () => mayLook);
    streams.openStream(other, '', () => true);
    await clock.advance(1_000);
    expect(page.writableEnded).toBe(false);
    mayLook = false;
    const written = page.writableLength;
    await clock.advance(1_000);
    expect(page.writableEnded).toBe(true);
    // The last piece of a chunked answer has five bytes.
    expect(page.writableLength - written).toBeLessThanOrEqual(5);
    expect([other.writableEnded, streams.count]).toEqual([false, 1]);
    streams.close();
  });
});
