/**
 * Configurations sent to gateways in virtual time, each gateway a world of its own: mutated files, two operators, an edit on site, kills and power
 * cuts. No gateway is locked out of its platform, and no file is lost.
 *
 *   npm run bench:configuration [-- --sent 200] [-- --seed N] [-- --json] [-- --minutes N]
 *
 * `--seed N` repeats one world and tells all of it. Two things lock a gateway out that no trial sees, and are left out unless asked for:
 * `--no-safe-start`, the output of the router has no state for the start; `--late-rules`, rules switch the router off once they are kept. Ends with 1
 * when a gateway is locked out, a file is lost, or too few files are kept or returned for the mutations to say anything.
 */
import { parseArgs } from 'node:util';
import { Ground } from './configuration-bench/ground.ts';
import { isGood, sendMany, tableOf } from './configuration-bench/tally.ts';
import { World } from './configuration-bench/world.ts';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    sent: { type: 'string', default: '200' },
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    'no-safe-start': { type: 'boolean', default: false },
    'late-rules': { type: 'boolean', default: false },
  },
});
const options = { hasSafeStart: !flags['no-safe-start'], hasLateRules: flags['late-rules'] };
const ground = await Ground.make();
try {
  if (flags.seed !== undefined) {
    const lived = await new World(Number(flags.seed), ground, options).live();
    console.log(JSON.stringify(lived, undefined, 2));
    process.exitCode = lived.lockedOut === undefined && lived.lost === undefined ? 0 : 1;
  } else {
    const tally = await sendMany(ground, {
      count: Number(flags.sent),
      fromSeed: Number(flags.from),
      hasSafeStart: options.hasSafeStart,
      hasLateRules: options.hasLateRules,
      ...(flags.minutes !== undefined && { minutes: Number(flags.minutes) }),
    });
    const { sent, kept, refused, returned, lockedOut, lost } = tally;
    if (flags.json) console.log(JSON.stringify({ sent, kept, refused, returned, lockedOut, lost }));
    else console.log(tableOf(tally));
    for (const line of tally.failures) console.error(line);
    process.exitCode = isGood(tally) ? 0 : 1;
  }
} finally {
  await ground.remove();
}
