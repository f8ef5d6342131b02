/** Runs test files inside a guest and gives each of their tests a place in the report outside. */
import { appendFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Guest } from './guest.ts';

const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      message: z.string().default(''),
      status: z.string(),
      assertionResults: z.array(
        z.object({
          ancestorTitles: z.array(z.string()),
          title: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

export interface InsideSuite {
  /** Paths in the checkout. */
  readonly files: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
}

/** Call it where tests are collected: it runs the files, then declares one test for each that was run. */
export async function insideSuite(guest: Guest, suite: InsideSuite): Promise<void> {
  const environment = { LAB_RUN: process.env.LAB_RUN ?? 'ci', LAB_FIGURES: '/tmp/figures', ...suite.environment };
  const words = Object.entries(environment).map(([name, value]) => `${name}='${value}'`);
  const {
    status: ended,
    stdout,
    stderr,
  } = await guest.attempt(
    `cd /lab; rm -f /tmp/report /tmp/figures
     ${words.join(' ')} node node_modules/vitest/vitest.mjs run ${suite.files.join(' ')} --configLoader native \
       --config test/lab/inside/vitest.config.ts --reporter=json --outputFile=/tmp/report >&2
     status=$?
     cat /tmp/report
     exit $status`,
    { deadlineMs: suite.deadlineMs ?? 300_000 },
  );
  const figures = process.env.LAB_FIGURES;
  if (figures !== undefined) appendFileSync(figures, (await guest.attempt('cat /tmp/figures')).stdout);
  if (stdout === '') throw new Error(`the suite did not run in the guest: ${stderr.slice(-4000)}`);
  const files = Report.parse(JSON.parse(stdout)).testResults;
  if (ended !== 0 && files.every((file) => file.status === 'passed')) {
    it('in the guest, nothing fails outside of tests', () => {
      expect.fail(stderr.slice(-6000));
    });
  }
  for (const file of files) {
    describe(`in the guest, ${file.name.replace(/^\/lab\//, '')}`, () => {
      if (file.assertionResults.length === 0)
        it('runs', () => {
          expect.fail(`no test ran (${file.status}): ${file.message}`);
        });
      for (const { ancestorTitles, title, status, failureMessages } of file.assertionResults) {
        const declare = status === 'pending' || status === 'skipped' ? it.skip : it;
        declare([...ancestorTitles, title].join(' > '), () => {
          if (status !== 'passed') expect.fail((failureMessages ?? []).join('\n') || status);
        });
      }
    });
  }
}
