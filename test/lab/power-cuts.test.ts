/** The guest is killed at random moments while it appends and delivers; what had been promised must arrive in a later life. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Witness } from './cuts/witness.ts';
import { DiskFolder } from './disk-image.ts';
import { Guest, HOST_FROM_GUEST } from './guest.ts';
import type { AppendRun } from './inside/append-run.ts';
import { recordFigure } from './results/figures.ts';

const CUTS = process.env.LAB_RUN === 'full' ? 30 : 2;
/** Between the moment a life has delivered what it found, and its end. */
const MAX_LIFE_MS = 4000;

describe('an outbox whose machine loses power', () => {
  let disks: DiskFolder;
  let witness: Witness;
  beforeAll(async () => {
    disks = await DiskFolder.make();
    witness = await Witness.open();
  });
  afterAll(async () => {
    await witness.close();
    await disks.remove();
  });

  it(
    `delivers everything that was promised, over ${CUTS} cuts`,
    async () => {
      const disk = await disks.ext4('data', 64);
      let losses = 0;
      for (let life = 0; life <= CUTS; life += 1) {
        const guest = await Guest.boot({ disks: [disk] });
        const run: AppendRun = {
          folder: '/data/outbox',
          from: witness.next,
          witness: { host: HOST_FROM_GUEST, port: witness.port },
        };
        const drained = witness.drained();
        const running = guest.attempt(
          `mount /dev/vda /data && node /lab/test/lab/inside/append-run.ts '${JSON.stringify(run)}'`,
        );
        const ended = running.then(
          ({ status, stderr }) => Promise.reject(new Error(`the append run ended with status ${status}: ${stderr}`)),
          () => undefined,
        );
        await Promise.race([drained, ended]);
        losses = witness.missing().length;
        expect(witness.missing(), `after ${life} cuts`).toEqual([]);
        expect(witness.invented(), `after ${life} cuts`).toEqual([]);
        await Promise.race([sleep(Math.random() * MAX_LIFE_MS), ended]);
        await guest.kill();
      }
      recordFigure('cuts', { during: 'append and delivery', cuts: CUTS, losses });
      expect(witness.promised.size).toBeGreaterThan(CUTS * 20);
    },
    (CUTS + 1) * 120_000,
  );
});
