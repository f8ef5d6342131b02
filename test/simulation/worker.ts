/** A process in which worlds live, one after the other, as it is told by its parent. */
import { live, warmUp } from './live.ts';
import { planOf } from './plan.ts';
import type { Lived, Task } from './workers.ts';

const warm = warmUp();
process.on('message', (task: Task) => {
  void (async () => {
    await warm;
    const before = process.cpuUsage();
    const verdict = await live(planOf(task.seed, task.options));
    const { user, system } = process.cpuUsage(before);
    const lived: Lived = { verdict, cpuSeconds: (user + system) / 1e6 };
    process.send?.(lived);
  })();
});
process.on('disconnect', () => process.exit());
