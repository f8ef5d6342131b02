/** `turnstone scan serial`: shows what is heard on serial ports, with sections for the configuration. */
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import type { Ports } from '../hardware/ports.ts';
import { thisHost } from '../host/machine.ts';
import { FreeNames } from '../scan/free-names.ts';
import { askPort, type HeardPort, listenOn, MBUS_ADDRESSES, SILENCE } from '../scan/listen.ts';
import { serialCandidates } from '../scan/serial-guesses.ts';
import type { ScanCall } from './commands/init.ts';
import { serialLines, slotLines } from './first-config.ts';
import { amountsOf, type Progress, withProgress } from './progress.ts';

/** A preset's answer takes as long as one listens, at least this long. */
const MIN_ANSWER_MS = 500;
/** An acknowledgement begins at most 190 ms after its request at 2400 baud. */
const MIN_ACKNOWLEDGE_MS = 250;

export async function scanSerial({ flags, edge, print }: ScanCall, ports: Ports): Promise<void> {
  const deps = { ...thisHost, ports };
  const isNamed = /^(\/|tcp:)/.test(flags.port);
  const listed = await ports.serial.list(edge.signal).catch((error: unknown) => {
    // A port that is named is listened on, on a machine that cannot list them, too.
    if (isNamed) return [];
    throw error;
  });
  const found = isNamed
    ? [listed.find((one) => [one.path, one.stablePath].includes(flags.port)) ?? { path: flags.port }]
    : listed;
  const candidates = await serialCandidates(flags.config ?? DEFAULT_CONFIG_FILE);
  const heard = await withProgress(edge.stderr, 'listening', (progress) => {
    const onProgress = (done: number, total: number): void => progress.update(done, total, amountsOf('speeds'));
    return listenOn(deps, found, { forMs: flags.for, candidates, onProgress }, edge.signal);
  });
  const asked: HeardPort[] = [];
  for (const port of heard) {
    const ask = (progress: Progress) =>
      askPort(
        deps,
        port,
        {
          candidates,
          addresses: flags.units ?? MBUS_ADDRESSES,
          answerMs: Math.max(MIN_ANSWER_MS, flags.for),
          acknowledgeMs: Math.max(MIN_ACKNOWLEDGE_MS, flags.timeout),
          onProgress: (done, total) => progress.update(done, total, amountsOf('M-Bus addresses')),
        },
        edge.signal,
      );
    asked.push(
      flags.ask === true && port.heard?.what === SILENCE
        ? await withProgress(edge.stderr, `asking on ${port.path}`, ask)
        : port,
    );
  }
  edge.signal.throwIfAborted();
  const names = new FreeNames();
  if (asked.length > 0 || flags.json === true)
    return print.result(asked, () => {
      const slots = flags.devices === true ? [] : undefined;
      const lines = asked.map((port) => `${serialLines(port, names, slots)}\n`).join('');
      return `${slotLines(slots ?? [])}sensors:\n${lines}`;
    });
  edge.stderr.write('nothing found; plug a port in; lsusb and dmesg show whether the kernel sees it\n');
}
