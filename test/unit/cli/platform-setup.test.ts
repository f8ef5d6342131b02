/** platform-setup against the local platform: a fresh one, one that is set up, one that a person has changed, and one that goes away in the middle. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runCommandLine } from '../../../src/command-line/program.ts';
import { systemClock } from '../../../src/host/clock.ts';
import type { JsonObject } from '../../../src/host/json.ts';
import { LocalPlatform } from '../../../src/local-platform/local-platform.ts';
import { requestProvisioning } from '../../../src/platform/provision-request.ts';
import { cleanSlate } from '../../support/clean-slate.ts';
import { type FakeEdge, type FakeEdgeOptions, fakeEdge } from '../../support/fake-edge.ts';
import { makeImage } from '../../support/release-image.ts';
