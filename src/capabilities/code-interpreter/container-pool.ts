import { ServiceError } from '../../core/error.ts';
import { systemIdGenerator } from '../../core/id.ts';
import { RETRY_AFTER_SECONDS } from '../../core/limits.ts';
import { CODE_PROGRAM_BYTES_MAX, CODE_REMOVAL_MS_MAX } from './limits.ts';
import type { CodeContainer, CodeOutput } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { createTimedAbort } from '../../lib/linked-abort.ts';
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
  /** Time when it was closed, in monotonic ms. Its place is free when it is removed. */
  closedAt?: number;
  /** Its removal has taken too long: nobody waits for it. */
  isStuck?: boolean;
}

interface QueuedProgram {
  readonly code: string;
  readonly inputs: ReadInputFiles | undefined;
}

/** Chosen: ms between checks for idle containers, and for those that are not removed. */
const CHECK_MS = 5_000;

const createFullError = (message: string, retryAfterSeconds = RETRY_AFTER_SECONDS): ServiceError =>
  new ServiceError('overloaded', message, { retryAfterSeconds });

const createClosingError = (): ServiceError => new ServiceError('overloaded', 'The service is closing.');

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

  /** Closed containers whose removal has not ended. */
  const closing = new Set<PooledContainer>();

  const closeContainer = (container: PooledContainer): void => {
    if (container.closedAt !== undefined) return;
    container.closedAt = clock.monotonic();
    containersById.delete(container.id);
    closing.add(container);
    container.process.kill();
    void container.process.removal.then(() => closing.delete(container));
  };
  const listIdle = (): readonly PooledContainer[] =>
    [...containersById.values()].filter(({ users }) => users === 0).toSorted((a, b) => a.lastUsedAt - b.lastUsedAt);
  const stopChecks = startInterval(CHECK_MS, () => {
    const now = clock.monotonic();
    for (const container of listIdle()) if (now - container.lastUsedAt >= idleMs) closeContainer(container);
    for (const container of closing) {
      if (container.isStuck || now - (container.closedAt ?? now) < CODE_REMOVAL_MS_MAX) continue;
      container.isStuck = true;
      log.error('code interpreter container not removed', { container: container.id });
    }
  });

  /**
   * Finds a container whose place a new one of this tenant can have: one that is being removed, or else the unused one of
   * this tenant that was used longest ago, or one of another tenant whose protection has ended, which is closed for it.
   * @returns undefined if a place is free.
   * @throws ServiceError `overloaded` if all are in use.
   */
  const findRemoval = (tenant: string): Promise<void> | undefined => {
    const all = [...containersById.values(), ...closing];
    const own = all.filter((container) => container.tenant === tenant);
    const hasShare = own.length < containersPerTenant;
    if (hasShare && all.length < containersMax) return undefined;
    const ending = (hasShare ? all : own).filter((container) => closing.has(container) && !container.isStuck);
    if (ending.length > 0) return Promise.race(ending.map(({ process }) => process.removal));
    const idle = listIdle();
    const [oldest] = idle;
    const remainingMs = oldest ? oldest.lastUsedAt + protectedMs - clock.monotonic() : undefined;
    const isReplaceable = hasShare && remainingMs !== undefined && remainingMs <= 0;
    const replaced = idle.find((container) => container.tenant === tenant) ?? (isReplaceable ? oldest : undefined);
    if (replaced) {
      closeContainer(replaced);
      return replaced.process.removal;
    }
    if (!hasShare)
      throw createFullError(`All ${containersPerTenant} code interpreter containers of this workspace are in use.`);
    throw createFullError(
      `All ${containersMax} code interpreter containers are in use, or were just used.`,
      remainingMs === undefined ? RETRY_AFTER_SECONDS : Math.ceil(remainingMs / 1000),
    );
  };

  const addContainer = (tenant: string): PooledContainer => {
    const container: PooledContainer = {
      id: systemIdGenerator.createSortableId('cntr_'),
      tenant,
      process: warmPool.take(),
      users: 1,
      lastUsedAt: clock.monotonic(),
      lastRun: Promise.resolve(),
    };
    // Counts against the limits while it starts.
    containersById.set(container.id, container);
    void container.process.termination.then(() => closeContainer(container));
    return container;
  };

  /** Adds a container as soon as a place is free. @throws like `findRemoval`, also if the wait is too long. */
  const addWhenFree = async (tenant: string, signal: AbortSignal): Promise<PooledContainer> => {
    const wait = createTimedAbort(signal, CODE_REMOVAL_MS_MAX, () =>
      createFullError('A code interpreter container was closed, but is not removed yet.'),
    );
    try {
      for (let removal = findRemoval(tenant); removal; removal = findRemoval(tenant))
        await raceWithAbort(removal, wait.signal);
      if (isClosed) throw createClosingError();
      return addContainer(tenant);
    } finally {
      wait.unlink();
    }
  };

  const startContainer = async (tenant: string, signal: AbortSignal): Promise<PooledContainer> => {
    const container = await addWhenFree(tenant, signal);
    const onAbort = (): void => closeContainer(container);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      await container.process.ready;
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
    const files = container.closedAt !== undefined ? [] : ((await inputs?.(signal)) ?? []);
    if (container.closedAt !== undefined) return LOST_OUTPUT;
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
      if (isClosed) throw createClosingError();
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
      stopChecks();
      const processes = [...containersById.values()].map(({ process }) => process);
      for (const container of containersById.values()) closeContainer(container);
      await Promise.all([warmPool.close(), ...processes.map(({ termination }) => termination)]);
    },
  };
}
