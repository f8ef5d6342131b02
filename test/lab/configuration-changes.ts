/** Thirty changes of an installed service's configuration; each says which file is in place at its end. */
import { expect } from 'vitest';
import { type ConfigurationBench, FILE, OTHER_CA, type Patch, STARTS, sha256 } from './configuration-bench.ts';
import { HOST_FROM_GUEST } from './guest.ts';
import type { ServiceGuest } from './service-guest.ts';

export interface Change {
  readonly name: string;
  /** Among those for which CI has time. */
  readonly isInCi?: true;
  /** Makes the change, and returns the hash of the file that has to be in place at its end. */
  readonly run: (bench: ConfigurationBench, service: Pick<ServiceGuest, 'strangeUrl' | 'cutPower'>) => Promise<string>;
}

/** A chip that is not on the bus. */
const DEAD_SENSOR = { 'sensors.room.address': 0x77 };
/** The board has no such line. */
const NO_LINE = { name: 'siren', kind: 'gpio-output', line: { chip: 'lab-board', offset: 99 }, safe: { stop: 'off' } };
/** Nobody listens there. */
const SILENT_URL = `http://${HOST_FROM_GUEST}:1`;

function period(ms: number) {
  return { set: { 'sensors.machine.period': `${ms}ms` } };
}

function pumpLabel(label: string) {
  return { set: { 'actuators.pump.label': label } };
}

async function refusedByRpc(bench: ConfigurationBench, patch: Patch, why: RegExp) {
  const before = await bench.hash();
  expect(await bench.byRpc(patch)).toMatchObject({ state: 'refused', reason: expect.stringMatching(why) });
  await bench.told('refused');
  return before;
}

/** Asks by RPC, and returns the hash of the file on trial. */
async function received(bench: ConfigurationBench, patch: Patch, needs: string) {
  const answer = await bench.byRpc(patch);
  expect(answer).toMatchObject({ state: 'received', needs });
  return String(answer.hash);
}

async function kept(bench: ConfigurationBench, patch: Patch, needs: string) {
  const hash = await received(bench, patch, needs);
  await bench.told('kept', hash);
  return hash;
}

async function returned(
  bench: ConfigurationBench,
  patch: Patch,
  { needs, why }: { readonly needs: string; readonly why: RegExp },
) {
  const before = await bench.hash();
  const hash = await received(bench, patch, needs);
  expect((await bench.told('returned', hash)).reason).toMatch(why);
  return before;
}

export const CHANGES: readonly Change[] = [
  // --- Refused: nothing is touched.
  {
    name: 'a locked option by RPC is refused',
    isInCi: true,
    run: (bench) => refusedByRpc(bench, { set: { 'actuators.pump.safe.stop': 'on' } }, /^locked: /),
  },
  {
    name: 'a value that is wrong by RPC is refused',
    isInCi: true,
    run: (bench) => refusedByRpc(bench, { set: { 'sensors.room.period': 'banana' } }, /period/),
  },
  {
    name: 'a patch for another file is refused',
    isInCi: true,
    run: (bench) => refusedByRpc(bench, { base: sha256('another'), ...period(6_000) }, /./),
  },
  {
    name: 'a locked option by the shared attribute is refused',
    run: async (bench) => {
      const before = await bench.hash();
      await bench.byAttribute({ set: { 'remoteConfiguration.trial': '5m' } });
      expect((await bench.told('refused')).reason).toMatch(/^locked: /);
      return before;
    },
  },
  {
    name: 'a faulty file by the command ends it with 78',
    isInCi: true,
    run: async (bench) => {
      const before = await bench.hash();
      expect((await bench.byCommand('--set sensors.room.period=banana')).status).toBe(78);
      await bench.told('refused');
      return before;
    },
  },
  {
    name: 'a locked option by the command ends it with 1',
    run: async (bench) => {
      const before = await bench.hash();
      expect((await bench.byCommand('--set actuators.pump.safe.stop=on')).status).toBe(1);
      await bench.told('refused');
      return before;
    },
  },
  {
    name: 'a faulty file as a package is refused',
    run: async (bench) => {
      const before = await bench.hash();
      await bench.byPackage(`${await bench.text()}colour: red\n`);
      await bench.told('refused');
      return before;
    },
  },

  // --- Kept.
  {
    name: 'a period by RPC is kept, by a reload',
    isInCi: true,
    run: (bench) => kept(bench, period(6_000), 'reload'),
  },
  {
    name: 'a period by the shared attribute is kept, by a reload',
    run: async (bench) => {
      await bench.byAttribute(period(7_000));
      return (await bench.told('kept')).hash;
    },
  },
  {
    name: 'a period by the command is kept, by a reload',
    isInCi: true,
    run: async (bench) => {
      expect(await bench.byCommand('--set sensors.machine.period=8s --wait')).toMatchObject({ status: 0 });
      return (await bench.told('kept')).hash;
    },
  },
  {
    name: 'a whole file as a package is kept, by a reload',
    run: async (bench) => {
      const hash = await bench.byPackage(`${await bench.text()}# of package\nlabel: Cellar\n`);
      await bench.told('kept', hash);
      return hash;
    },
  },
  {
    name: 'a label of an output by RPC is kept, by a restart',
    run: (bench) => kept(bench, pumpLabel('Pump one'), 'restart'),
  },
  {
    name: 'a label of an output by the shared attribute is kept, by a restart',
    run: async (bench) => {
      await bench.byAttribute(pumpLabel('Pump two'));
      return (await bench.told('kept')).hash;
    },
  },
  {
    name: 'a label of an output by the command is kept, by a restart',
    run: async (bench) => {
      expect(await bench.byCommand("--set 'actuators.pump.label=Pump three' --wait")).toMatchObject({ status: 0 });
      return (await bench.told('kept')).hash;
    },
  },
  {
    name: 'a whole file as a package is kept, by a restart',
    run: async (bench) => {
      const hash = await bench.byPackage((await bench.text()).replace('Pump three', 'Pump four'));
      await bench.told('kept', hash);
      return hash;
    },
  },

  // --- Returned at once, or by the guard's count of starts.
  {
    name: 'an output without a line returns by RPC',
    isInCi: true,
    run: (bench) => returned(bench, { add: { actuators: [NO_LINE] } }, { needs: 'restart', why: /siren is in fault/ }),
  },
  {
    name: 'an output without a line returns by the command',
    run: async (bench) => {
      const before = await bench.hash();
      const whole = (await bench.text()).replace(/^actuators:$/m, `actuators:\n  - ${JSON.stringify(NO_LINE)}`);
      await bench.guest.run(`cat >/root/wanted.yaml <<'END'\n${whole}END`);
      expect(await bench.byCommand('/root/wanted.yaml --wait')).toMatchObject({ status: 1 });
      await bench.told('returned');
      return before;
    },
  },
  {
    name: 'a file that a start ends over with 78 returns',
    isInCi: true,
    run: (bench) => returned(bench, pumpLabel(STARTS.refuses), { needs: 'restart', why: /the agent refuses it/ }),
  },
  {
    name: 'a file that no schema has seen, of whoever holds the service’s user, returns',
    run: async (bench) => {
      const before = await bench.hash();
      await bench.byServiceUser((await bench.text()).replace('period: 2s', 'period: banana'), 'restart');
      await bench.guest.run(
        `until grep -q '^outcome=returned' /var/lib/turnstone-guard/configuration/result && grep -q lab- /var/lib/turnstone-guard/configuration/result; do sleep 1; done`,
        { deadlineMs: 200_000 },
      );
      return before;
    },
  },
  {
    name: 'a file over which each start crashes returns at the fourth',
    run: (bench) => returned(bench, pumpLabel(STARTS.crashes), { needs: 'restart', why: /not kept in 3 starts/ }),
  },

  // --- Killed in the midst.
  {
    name: 'an agent that is killed during the trial keeps the file',
    run: async (bench) => {
      const hash = await received(bench, period(9_000), 'reload');
      await bench.onTrial();
      await bench.guest.run('systemctl kill -s KILL turnstone');
      await bench.told('kept', hash);
      return hash;
    },
  },
  {
    name: 'a helper that is killed while it changes the file leaves one of the two',
    run: async (bench) => {
      const before = await bench.hash();
      // Kills the helper as soon as the trial is laid: before, between and behind its last steps.
      const killed = bench.guest.run(
        `until [ -e /var/lib/turnstone-guard/configuration/state ]; do :; done; systemctl kill -s KILL turnstone-helper.service`,
        { deadlineMs: 120_000 },
      );
      const hash = await received(bench, pumpLabel('Pump five'), 'restart');
      await killed;
      const end = await bench.ended(hash);
      return end.state === 'kept' ? hash : before;
    },
  },
  {
    name: 'a helper that is killed while it ends the trial is asked again',
    run: async (bench) => {
      const hash = await received(bench, period(10_000), 'reload');
      await bench.onTrial();
      await bench.guest.run(
        `until [ "$(systemctl is-active turnstone-helper.service)" = inactive ]; do sleep 0.2; done
         until [ "$(systemctl is-active turnstone-helper.service)" = activating ]; do :; done; systemctl kill -s KILL turnstone-helper.service`,
        { deadlineMs: 120_000 },
      );
      await bench.told('kept', hash);
      return hash;
    },
  },
  {
    name: 'a power cut during the trial brings the previous file',
    run: async (bench, { cutPower }) => {
      const before = await bench.hash();
      const hash = await received(bench, { set: DEAD_SENSOR }, 'reload');
      await bench.onTrial();
      await cutPower();
      expect((await bench.told('returned', hash)).reason).toMatch(/machine went down/);
      return before;
    },
  },

  // --- Returned at the end of the trial.
  {
    name: 'a sensor that is dead returns',
    run: (bench) => returned(bench, { set: DEAD_SENSOR }, { needs: 'reload', why: /no reading of room/ }),
  },
  {
    name: 'an address at which no platform answers returns',
    run: (bench) =>
      returned(bench, { set: { 'platform.url': SILENT_URL } }, { needs: 'restart', why: /no upload was acknowledged/ }),
  },
  {
    name: 'a platform that the authority does not know returns',
    run: (bench, { strangeUrl }) =>
      returned(
        bench,
        { set: { 'platform.url': strangeUrl, 'platform.caFile': OTHER_CA } },
        { needs: 'restart', why: /no upload was acknowledged/ },
      ),
  },
  {
    name: 'a file over which a start hangs before it is ready returns',
    run: (bench) => returned(bench, pumpLabel(STARTS.hangs), { needs: 'restart', why: /not kept in its time/ }),
  },
  {
    name: 'a good edit on site during the trial stays',
    run: async (bench) => {
      const before = await bench.text();
      await received(bench, { set: DEAD_SENSOR }, 'reload');
      await bench.onTrial();
      const edited = `${before}# on site\n`;
      await bench.guest.run(
        `cat >/root/edited <<'END'\n${edited}END\ncat /root/edited >${FILE}; systemctl reload turnstone`,
      );
      expect((await bench.told('kept', sha256(edited))).reason).toMatch(/changed on site/);
      return sha256(edited);
    },
  },
  {
    name: 'a wrong edit on site during the trial is set aside',
    run: async (bench) => {
      const before = await bench.hash();
      const hash = await received(bench, { set: DEAD_SENSOR }, 'reload');
      await bench.onTrial();
      await bench.guest.run(`echo 'colour: red' >>${FILE}; systemctl reload turnstone`);
      await bench.told('returned', hash);
      expect(await bench.guest.run(`tail -n 1 ${FILE}.refused`)).toBe('colour: red\n');
      return before;
    },
  },
];
