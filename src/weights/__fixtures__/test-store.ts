import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import type { PullProgress } from '../progress.ts';
import type { WeightsStore, WeightsStoreOptions } from '../weights-store.ts';
import { createWeightsStore } from '../weights-store.ts';

export interface TestStore extends WeightsStore {
  readonly folder: string;
  readonly logged: string[];
  readonly progress: PullProgress[];
}

/** Every look at it is a second later: no report is left out for coming too soon. */
function createHastyClock(): Clock {
  let ms = 0;
  return { now: () => Date.now(), monotonic: () => (ms += 1_000) };
}

/** A store in `folder`/models that reaches nothing unless the test says so, waits for nothing, and gives up nothing that is only late. */
export function createTestStore(folder: string, given: Partial<WeightsStoreOptions> = {}): TestStore {
  const logged: string[] = [];
  const progress: PullProgress[] = [];
  const models = join(folder, 'models');
  const store = createWeightsStore({
    folder: models,
    extraFolders: [],
    hubUrl: undefined,
    python: undefined,
    environment: { PATH: process.env['PATH'] },
    fetch: (url, init) => fetch(url, init),
    clock: createHastyClock(),
    log: { info: (message) => logged.push(message), warn: (message) => logged.push(message) },
    onProgress: (event) => progress.push(event),
    ...given,
    limits: { connectMs: 30_000, silenceMs: 30_000, retryMs: 1, diskReserveBytes: 0, lockPollMs: 5, ...given.limits },
  });
  return { ...store, folder: models, logged, progress };
}
