import { mkdirSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import type { Log } from '../core/telemetry.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { Lifecycle } from '../lib/lifecycle.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { createJobNotifier, type JobNotifier } from '../resources/jobs/job-notifier.ts';
import type { Keys } from '../resources/keys/key.ts';
import { createKeys } from '../resources/keys/service.ts';
import type { Store } from '../store/store.ts';
import { createLogFile } from '../telemetry/log-file.ts';
import { createLog } from '../telemetry/log.ts';
import { createPausableStream } from '../telemetry/pausable-stream.ts';
import { createPrettyDestination } from '../telemetry/pretty-destination.ts';
import { checkDatabaseAtStart } from './check-database-at-start.ts';
import { createDatabaseHealth, type DatabaseHealth } from './database-health.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { getDatabaseFile } from './open-backups.ts';
import { openDatabase } from './open-components.ts';
import type { ServiceOverrides } from './service-overrides.ts';

/** The configuration and the collaborators that all modules of a service share. */
export interface ServiceContext {
  readonly config: Config;
  readonly overrides: Partial<ServiceOverrides>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly databaseHealth: DatabaseHealth;
  readonly keys: Keys;
  readonly jobNotifier: JobNotifier;
  /** True in the one process that does the periodic cleanup for all. */
  readonly runsCleanup: boolean;
  readonly lifecycle: Lifecycle;
  /** Opens a module that is closed with the service. */
  readonly openModule: <Module extends { close(): Promise<void> }>(
    name: string,
    open: () => Module | Promise<Module>,
  ) => Promise<Module>;
  /** Buffers log lines until the returned function is called. */
  readonly pauseLog: () => () => void;
  readonly writeLogLines: (lines: string) => void;
}

/** The log, and control over its lines. */
type ServiceLog = Pick<ServiceContext, 'log' | 'pauseLog' | 'writeLogLines'>;

/** The parts of a service that exist before its modules. */
export type ServiceBase = ServiceLog & Pick<ServiceContext, 'lifecycle'>;

/** Creates the log. It exists before the modules, because it also reports why they do not open or close. */
export function createServiceLog(
  config: Config,
  overrides: Pick<Partial<ServiceOverrides>, 'log' | 'worker'>,
): ServiceLog {
  const stream = createPausableStream(isLogPretty(config) ? process.stderr : createLogFile(2));
  const destination = isLogPretty(config) ? createPrettyDestination(stream) : stream;
  return {
    log:
      overrides.log ??
      createLog({ level: config.log.level, destination, ...omitNullish({ worker: overrides.worker }) }),
    pauseLog: () => stream.pause(),
    writeLogLines: (lines) => destination.write(lines),
  };
}

/** Opens the store. */
export async function createServiceContext(
  config: Config,
  overrides: Partial<ServiceOverrides>,
  { lifecycle, ...logging }: ServiceBase,
): Promise<ServiceContext> {
  const openModule: ServiceContext['openModule'] = (name, open) =>
    lifecycle.open(name, open, (module) => module.close());
  const clock = overrides.clock ?? systemClock;
  const environment = overrides.environment ?? process.env;
  mkdirSync(config.data, { recursive: true, mode: 0o700 });
  if (overrides.worker === undefined)
    await lifecycle.open(
      'data folder',
      () => lockDataFolder(config.data),
      (lock) => lock.release(),
    );
  const file = getDatabaseFile(config);
  const databaseHealth = createDatabaseHealth({ file, clock, log: logging.log });
  if (overrides.databaseProblem !== undefined) databaseHealth.refuse(overrides.databaseProblem);
  // The primary checks the database for its workers.
  if (config.store.startCheck && !overrides.store && overrides.worker === undefined)
    await checkDatabaseAtStart({ file, health: databaseHealth, log: logging.log });
  const store = await openModule('store', () => overrides.store ?? openDatabase(config, databaseHealth.report));
  return {
    config,
    overrides,
    environment,
    clock,
    ...logging,
    store,
    databaseHealth,
    keys: createKeys({ store, clock }),
    jobNotifier: createJobNotifier(),
    runsCleanup: overrides.worker === undefined,
    lifecycle,
    openModule,
  };
}

/** Returns whether to format the log for people. It goes to standard error; standard output belongs to commands. */
const isLogPretty = ({ log: { pretty } }: Config): boolean => (pretty === 'auto' ? process.stderr.isTTY : pretty);
