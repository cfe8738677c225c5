import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { startInterval as systemStartInterval, type StartInterval } from '../../lib/start-interval.ts';
import type { KeyStore } from '../../store/keys.ts';
import { KEY_USE_WRITE_IDS_MAX, KEY_USE_WRITE_MS } from '../limits.ts';

export interface KeyUseRecorder {
  /** Notes that a key is used now. Costs no access to the store. */
  record(id: string): void;
  /** Writes the last uses. */
  close(): Promise<void>;
}

export interface KeyUseRecorderDeps {
  readonly store: Pick<KeyStore, 'recordUses'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Log, 'warn'>;
  readonly startInterval?: StartInterval;
}

/**
 * Records the last use of each key, to the minute: all keys of a minute are written together every KEY_USE_WRITE_MS. Uses
 * since the last write are lost when the process is killed.
 */
export function createKeyUseRecorder({
  store,
  clock,
  log,
  startInterval = systemStartInterval,
}: KeyUseRecorderDeps): KeyUseRecorder {
  /** Minute of the last use, in ms since the epoch, by key; only uses that are not yet written. */
  const minutes = new Map<string, number>();
  let writing = Promise.resolve();

  const writeAll = async (): Promise<void> => {
    for (const [minute, entries] of Map.groupBy(minutes, ([, each]) => each)) {
      const ids = entries.map(([id]) => id);
      for (let start = 0; start < ids.length; start += KEY_USE_WRITE_IDS_MAX) {
        const written = ids.slice(start, start + KEY_USE_WRITE_IDS_MAX);
        await store.recordUses(written, minute);
        // A key that was used again meanwhile is written again. What fails is written with the next interval.
        for (const id of written) if (minutes.get(id) === minute) minutes.delete(id);
      }
    }
  };
  const write = (): Promise<void> =>
    (writing = writing.then(writeAll).catch((error: unknown) => {
      log.warn('last uses of keys not written', { error: String(error) });
    }));
  const stop = startInterval(KEY_USE_WRITE_MS, () => void write());

  return {
    record: (id) => void minutes.set(id, Math.floor(clock.now() / 60_000) * 60_000),
    async close() {
      stop();
      await write();
    },
  };
}
