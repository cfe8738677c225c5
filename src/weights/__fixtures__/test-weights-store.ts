import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import type { PullProgress } from '../progress-meter.ts';
import { createWeightsStore, type WeightsStore, type WeightsStoreOptions } from '../weights-store.ts';

export interface TestWeightsStore extends WeightsStore {
  readonly folder: string;
  readonly logMessages: string[];
  readonly progress: PullProgress[];
}

/** Creates a clock that advances one second per call, so that no report is suppressed as too early. */
function createSteppingClock(): Clock {
  let ms = 0;
  return { now: () => Date.now(), monotonic: () => (ms += 1_000) };
}

/** Creates a store in `folder`/models without sources, unless overridden; it retries at once and has long timeouts. */
export function createTestWeightsStore(folder: string, overrides: Partial<WeightsStoreOptions> = {}): TestWeightsStore {
  const logMessages: string[] = [];
  const progress: PullProgress[] = [];
  const models = join(folder, 'models');
  const store = createWeightsStore({
    folder: models,
    extraFolders: [],
    hubUrl: undefined,
    python: undefined,
    environment: { PATH: process.env['PATH'] },
    fetch: (url, init) => fetch(url, init),
    clock: createSteppingClock(),
    log: { info: (message) => logMessages.push(message), warn: (message) => logMessages.push(message) },
    onProgress: (event) => progress.push(event),
    ...overrides,
    limits: { connectMs: 30_000, stallMs: 30_000, retryMs: 1, diskReserveBytes: 0, lockPollMs: 5, ...overrides.limits },
  });
  return { ...store, folder: models, logMessages, progress };
}
