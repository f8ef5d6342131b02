/** Opens the made-up greenhouse on a port, for people who try the page: `./scripts/dev.sh node test/tasks.ts [PORT]`. Ends with Ctrl-C. */
import { swingingSeries } from '../scripts/screens/page-states.ts';
import { GREENHOUSE_PIN, Greenhouse } from './support/greenhouse.ts';

const site = await Greenhouse.open(Number(process.argv[2] ?? 0));
site.bench.series = swingingSeries;
process.stdout.write(`${site.bench.url} PIN ${GREENHOUSE_PIN}\n`);
process.once('SIGINT', () => void site.bench.stop().then(() => process.exit(0)));
