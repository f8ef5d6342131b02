/** Opens the made-up greenhouse on a port, for people who try the page: `npm run greenhouse [-- PORT]`. Ends with Ctrl-C. */

import { GREENHOUSE_PIN, Greenhouse } from '../test/support/greenhouse.ts';
import { swingingSeries } from './screens/page-states.ts';

const site = await Greenhouse.open(Number(process.argv[2] ?? 0));
site.bench.series = swingingSeries;
process.stdout.write(`${site.bench.url} PIN ${GREENHOUSE_PIN}\n`);
process.once('SIGINT', () => void site.bench.stop().then(() => process.exit(0)));
