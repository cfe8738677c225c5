import { ServiceError } from '../../core/error.ts';
import { systemIds } from '../../core/id.ts';
import { CODE_PROGRAM_BYTES_MAX, RETRY_AFTER_SECONDS } from '../../core/limits.ts';
import type { CodeContainer, CodeOutput } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery } from '../../lib/every.ts';
import type { Every } from '../../lib/every.ts';
import { unlessAborted } from '../../lib/unless-aborted.ts';
import type { ReadInputs } from './input-files.ts';
import type { ProgramProcess } from './program-process.ts';
import { createReserve } from './reserve.ts';

/** The containers of this process. */
export interface Containers {
  /**
   * The workspace's container of that id if it lives, else a new one.
   * @throws ServiceError `overloaded`; the signal's reason.
   */
  open(wish: ContainerWish, signal: AbortSignal): Promise<CodeContainer>;
  /** Processes that wait for the next one. */
  inReserve(): number;
  close(): Promise<void>;
}

interface ContainerWish {
  readonly workspace: string;
  readonly containerId?: string | undefined;
  /** Put into the working folder with the first program of whoever opens it. */
  readonly inputs?: ReadInputs | undefined;
}

interface ContainersOptions {
  /** Starts a process for a container. */
  readonly start: () => ProgramProcess;
  readonly containersMax: number;
  /** Processes in reserve, beside those of containers. */
  readonly warm: number;
  readonly idleMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly every?: Every;
}

interface Held {
  readonly id: string;
  readonly workspace: string;
  readonly process: ProgramProcess;
  /** Those who opened it and did not release it. */
  users: number;
  usedAt: number;
  /** The end of the last program that was asked for. */
  last: Promise<unknown>;
  isGone: boolean;
}

interface Wanted {
  readonly code: string;
  readonly inputs: ReadInputs | undefined;
}

/** Ours: ms between looks for containers that nobody used for long. */
const IDLE_LOOK_MS = 5_000;

const GONE: CodeOutput = {
  stdout: '',
  stderr: '',
  error: { type: 'lost', message: 'The container is gone, and what was in it.' },
  files: [],
  isCut: false,
};

export function createContainers(options: ContainersOptions): Containers {
  const { start, containersMax, warm, idleMs, clock, log, every = systemEvery } = options;
  const held = new Map<string, Held>();
  const reserve = createReserve({ start, size: warm, log });
  let isClosed = false;

  const remove = (one: Held): void => {
    one.isGone = true;
    held.delete(one.id);
    one.process.kill();
  };
  const idle = (): readonly Held[] =>
    [...held.values()].filter(({ users }) => users === 0).toSorted((a, b) => a.usedAt - b.usedAt);
  const stopLooking = every(IDLE_LOOK_MS, () => {
    for (const one of idle()) if (clock.monotonic() - one.usedAt >= idleMs) remove(one);
  });

  /** What nobody uses makes room: the workspace's own before that of others, the oldest first. */
  const makeRoom = (workspace: string): void => {
    if (held.size < containersMax) return;
    const candidates = idle();
    const victim = candidates.find((one) => one.workspace === workspace) ?? candidates[0];
    if (!victim) {
      throw new ServiceError('overloaded', `All ${containersMax} containers of the code interpreter are in use.`, {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    remove(victim);
  };

  const begin = async (workspace: string, signal: AbortSignal): Promise<Held> => {
    makeRoom(workspace);
    const process = reserve.take();
    const id = systemIds.sortable('cntr_');
    const usedAt = clock.monotonic();
    // It has its place while it gets ready.
    const one: Held = { id, workspace, process, users: 1, usedAt, last: Promise.resolve(), isGone: false };
    held.set(id, one);
    void process.ended.then(() => remove(one));
    const onAbort = (): void => remove(one);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await process.ready;
      return one;
    } catch (cause) {
      remove(one);
      signal.throwIfAborted();
      throw new ServiceError('overloaded', 'The code interpreter could not start a container.', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
        cause,
      });
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  };

  const runNext = async (one: Held, { code, inputs }: Wanted, signal: AbortSignal): Promise<CodeOutput> => {
    signal.throwIfAborted();
    const files = one.isGone ? [] : ((await inputs?.(signal)) ?? []);
    if (one.isGone) return GONE;
    one.usedAt = clock.monotonic();
    const output = await one.process.run({ code, files }, signal);
    one.usedAt = clock.monotonic();
    if (output.error && output.error.type !== 'exception') {
      log.warn('a container of the code interpreter was ended', { container: one.id, why: output.error.type });
      remove(one);
    }
    return output;
  };

  const handOut = (one: Held, inputs: ReadInputs | undefined): CodeContainer => {
    let isReleased = false;
    let unread = inputs;
    return {
      id: one.id,
      async run(code, signal) {
        if (Buffer.byteLength(code) > CODE_PROGRAM_BYTES_MAX) {
          throw new ServiceError('too-large', `A program may have ${CODE_PROGRAM_BYTES_MAX} bytes.`);
        }
        const before = one.last;
        const mine = unlessAborted(before, signal).then(() => {
          const wanted = { code, inputs: unread };
          unread = undefined;
          return runNext(one, wanted, signal);
        });
        // Whoever gives up waiting for a program of somebody else's does not let the next one run beside it.
        one.last = Promise.allSettled([before, mine]);
        return mine;
      },
      release() {
        if (isReleased) return;
        isReleased = true;
        one.users--;
        one.usedAt = clock.monotonic();
      },
    };
  };

  return {
    async open({ workspace, containerId, inputs }, signal) {
      signal.throwIfAborted();
      if (isClosed) throw new ServiceError('overloaded', 'The service is closing.');
      const known = containerId === undefined ? undefined : held.get(containerId);
      // Another workspace's is not there for this one.
      const isOwn = known !== undefined && known.workspace === workspace;
      if (isOwn) known.users++;
      const one = isOwn ? known : await begin(workspace, signal);
      return handOut(one, inputs);
    },
    inReserve: () => reserve.ready(),
    async close() {
      isClosed = true;
      stopLooking();
      const processes = [...held.values()].map(({ process }) => process);
      for (const one of held.values()) remove(one);
      await Promise.all([reserve.close(), ...processes.map(({ ended }) => ended)]);
    },
  };
}
