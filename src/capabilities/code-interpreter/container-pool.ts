import { ServiceError } from '../../core/error.ts';
import { systemIdGenerator } from '../../core/id.ts';
import { RETRY_AFTER_SECONDS } from '../../core/limits.ts';
import { CODE_PROGRAM_BYTES_MAX } from './limits.ts';
import type { CodeContainer, CodeOutput } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { startInterval as startSystemInterval } from '../../lib/start-interval.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import { raceWithAbort } from '../../lib/race-with-abort.ts';
import type { ReadInputFiles } from './input-files.ts';
import type { ProgramProcess } from './program-process.ts';
import { createWarmPool } from './warm-pool.ts';

/** The containers of the code interpreter in this process. */
export interface ContainerPool {
  /**
   * Opens the tenant's container with that id if it is running, else a new one.
   * @throws ServiceError `overloaded`; the signal's reason.
   */
  open(request: OpenContainerRequest, signal: AbortSignal): Promise<CodeContainer>;
  /** Returns the number of ready processes that wait for a container. */
  countWarm(): number;
  close(): Promise<void>;
}

interface OpenContainerRequest {
  /** Workspace and region. */
  readonly tenant: string;
  readonly containerId?: string | undefined;
  /** Files to put into the working folder with the first program. */
  readonly inputs?: ReadInputFiles | undefined;
}

interface ContainerPoolOptions {
  /** Starts a process for a container. */
  readonly start: () => ProgramProcess;
  readonly containersMax: number;
  readonly containersPerTenant: number;
  /** Number of processes kept ready, in addition to those of containers. */
  readonly warm: number;
  readonly idleMs: number;
  /** Time for which another tenant cannot have an unused container closed. */
  readonly protectedMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly startInterval?: StartInterval;
}

interface PooledContainer {
  readonly id: string;
  readonly tenant: string;
  readonly process: ProgramProcess;
  /** Number of callers that have opened it and not released it. */
  users: number;
  lastUsedAt: number;
  /** Settles with the last requested program. */
  lastRun: Promise<unknown>;
  isClosed: boolean;
}

interface QueuedProgram {
  readonly code: string;
  readonly inputs: ReadInputFiles | undefined;
}

/** Chosen: ms between checks for idle containers. */
const IDLE_CHECK_MS = 5_000;

const createFullError = (message: string, retryAfterSeconds = RETRY_AFTER_SECONDS): ServiceError =>
  new ServiceError('overloaded', message, { retryAfterSeconds });

const LOST_OUTPUT: CodeOutput = {
  stdout: '',
  stderr: '',
  error: { type: 'lost', message: 'The container was closed, and its files are lost.' },
  files: [],
  isTruncated: false,
};

export function createContainerPool(options: ContainerPoolOptions): ContainerPool {
  const { start, containersMax, containersPerTenant, warm, clock, log } = options;
  const { idleMs, protectedMs, startInterval = startSystemInterval } = options;
  const containersById = new Map<string, PooledContainer>();
  const warmPool = createWarmPool({ start, size: warm, log });
  let isClosed = false;

  const closeContainer = (container: PooledContainer): void => {
    container.isClosed = true;
    containersById.delete(container.id);
    container.process.kill();
  };
  const listIdle = (): readonly PooledContainer[] =>
    [...containersById.values()].filter(({ users }) => users === 0).toSorted((a, b) => a.lastUsedAt - b.lastUsedAt);
  const stopIdleChecks = startInterval(IDLE_CHECK_MS, () => {
    for (const container of listIdle())
      if (clock.monotonic() - container.lastUsedAt >= idleMs) closeContainer(container);
  });

  /**
   * Reserves a place for a container: closes the unused one of this tenant that was used longest ago, or one of another tenant
   * whose protection has ended.
   */
  const reservePlace = (tenant: string): void => {
    const own = [...containersById.values()].filter((container) => container.tenant === tenant);
    const hasShare = own.length < containersPerTenant;
    if (hasShare && containersById.size < containersMax) return;
    const idle = listIdle();
    const ownIdle = idle.find((container) => container.tenant === tenant);
    if (ownIdle) return closeContainer(ownIdle);
    if (!hasShare)
      throw createFullError(`All ${containersPerTenant} code interpreter containers of this workspace are in use.`);
    const [oldest] = idle;
    const remainingMs = oldest ? oldest.lastUsedAt + protectedMs - clock.monotonic() : undefined;
    if (oldest && remainingMs !== undefined && remainingMs <= 0) return closeContainer(oldest);
    throw createFullError(
      `All ${containersMax} code interpreter containers are in use, or were just used.`,
      remainingMs === undefined ? RETRY_AFTER_SECONDS : Math.ceil(remainingMs / 1000),
    );
  };

  const startContainer = async (tenant: string, signal: AbortSignal): Promise<PooledContainer> => {
    reservePlace(tenant);
    const process = warmPool.take();
    const id = systemIdGenerator.createSortableId('cntr_');
    const startedAt = clock.monotonic();
    // Counts against `containersMax` while it starts.
    const container: PooledContainer = {
      id,
      tenant,
      process,
      users: 1,
      lastUsedAt: startedAt,
      lastRun: Promise.resolve(),
      isClosed: false,
    };
    containersById.set(id, container);
    void process.termination.then(() => closeContainer(container));
    const onAbort = (): void => closeContainer(container);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await process.ready;
      return container;
    } catch (cause) {
      closeContainer(container);
      signal.throwIfAborted();
      throw new ServiceError('overloaded', 'The code interpreter could not start a container.', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
        cause,
      });
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  };

  const runNext = async (
    container: PooledContainer,
    { code, inputs }: QueuedProgram,
    signal: AbortSignal,
  ): Promise<CodeOutput> => {
    signal.throwIfAborted();
    const files = container.isClosed ? [] : ((await inputs?.(signal)) ?? []);
    if (container.isClosed) return LOST_OUTPUT;
    container.lastUsedAt = clock.monotonic();
    const output = await container.process.run({ code, files }, signal);
    container.lastUsedAt = clock.monotonic();
    if (output.error && output.error.type !== 'exception') {
      log.warn('code interpreter container ended', { container: container.id, reason: output.error.type });
      closeContainer(container);
    }
    return output;
  };

  const createHandle = (container: PooledContainer, inputs: ReadInputFiles | undefined): CodeContainer => {
    let isReleased = false;
    let unreadInputs = inputs;
    return {
      id: container.id,
      async run(code, signal) {
        if (Buffer.byteLength(code) > CODE_PROGRAM_BYTES_MAX) {
          throw new ServiceError('too-large', `A program may have at most ${CODE_PROGRAM_BYTES_MAX} bytes.`);
        }
        const before = container.lastRun;
        const current = raceWithAbort(before, signal).then(() => {
          const queued = { code, inputs: unreadInputs };
          unreadInputs = undefined;
          return runNext(container, queued, signal);
        });
        // Waits for the program before also if this caller stops waiting, so that programs never run in parallel.
        container.lastRun = Promise.allSettled([before, current]);
        return current;
      },
      release() {
        if (isReleased) return;
        isReleased = true;
        container.users--;
        container.lastUsedAt = clock.monotonic();
      },
    };
  };

  return {
    async open({ tenant, containerId, inputs }, signal) {
      signal.throwIfAborted();
      if (isClosed) throw new ServiceError('overloaded', 'The service is closing.');
      const existing = containerId === undefined ? undefined : containersById.get(containerId);
      // Containers of other tenants are treated as missing.
      const isOwn = existing !== undefined && existing.tenant === tenant;
      if (isOwn) existing.users++;
      const container = isOwn ? existing : await startContainer(tenant, signal);
      return createHandle(container, inputs);
    },
    countWarm: () => warmPool.countReady(),
    async close() {
      isClosed = true;
      stopIdleChecks();
      const processes = [...containersById.values()].map(({ process }) => process);
      for (const container of containersById.values()) closeContainer(container);
      await Promise.all([warmPool.close(), ...processes.map(({ termination }) => termination)]);
    },
  };
}
