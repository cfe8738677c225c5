import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import type { Log } from '../core/telemetry.ts';
import { startPeriodicTask, type PeriodicTask } from '../lib/periodic-task.ts';
import { STORE_RECLAIM_INTERVAL_MS, STORE_RECLAIM_PAUSE_MS, STORE_RECLAIM_STEPS_MAX } from '../store/limits.ts';
import { createSqliteMaintenance } from '../store/maintenance/sqlite-maintenance.ts';
import { getDatabaseFile } from './open-backups.ts';

/** Gives space that deleted rows have left back to the disk, in small steps with pauses. */
export function openDatabaseMaintenance(config: Config, log: Pick<Log, 'warn'>): PeriodicTask {
  const file = getDatabaseFile(config);
  const maintenance = createSqliteMaintenance({ file });
  return startPeriodicTask({
    intervalMs: STORE_RECLAIM_INTERVAL_MS,
    async run(isClosed) {
      // Tests pass stores in memory.
      if (!existsSync(file)) return;
      for (let step = 0; step < STORE_RECLAIM_STEPS_MAX && !isClosed(); step += 1) {
        if (!(await maintenance.reclaimStep())) return;
        await pause(STORE_RECLAIM_PAUSE_MS);
      }
    },
    onFailure: (error) => log.warn('database maintenance failed', { error: String(error) }),
  });
}
