/**
 * Reads the dead-letter queue and makes the delivery state agree with it. A power cut may have taken the acknowledgement of what was copied into the
 * queue; and damage may have taken letters out of it, which their lanes then give again, as far as their segments are still there.
 */
import { type DeadLetter, DeadLetterFile } from './dead-letter-file.ts';
import type { DeliveryState } from './delivery-state.ts';
import { RejectedFile } from './rejected-file.ts';

export async function openDeadLetters(
  deps: Parameters<typeof DeadLetterFile.read>[0],
  state: Pick<DeliveryState, 'acknowledged' | 'undelivered' | 'noteUndelivered'>,
): Promise<Map<number, DeadLetter>> {
  const { letters, isWhole } = await DeadLetterFile.read(deps);
  for (const sequence of letters.keys()) {
    if (state.acknowledged.has(sequence)) continue;
    state.acknowledged.add(sequence, sequence);
    state.noteUndelivered(sequence);
  }
  if (!isWhole) await giveBack(deps, state, letters);
  return letters;
}

/** Entries that are neither delivered, nor letters, nor rejected wait again. */
async function giveBack(
  { files, folder }: Parameters<typeof DeadLetterFile.read>[0],
  { acknowledged, undelivered }: Pick<DeliveryState, 'acknowledged' | 'undelivered'>,
  letters: ReadonlyMap<number, DeadLetter>,
): Promise<void> {
  // Sent twice it overwrites itself: a list that cannot be read keeps nothing back.
  const list = await new RejectedFile({ files, folder, maxBytes: 0 }).list().catch(() => []);
  const rejected = new Set(list.map(({ sequence }) => sequence));
  for (const [first, last] of [...undelivered.list()])
    for (let sequence = first; sequence <= last; sequence += 1) {
      if (letters.has(sequence) || rejected.has(sequence)) continue;
      undelivered.remove(sequence, sequence);
      acknowledged.remove(sequence, sequence);
    }
}
