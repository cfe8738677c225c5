import { totalmem } from 'node:os';
import { ServiceError } from '../../core/error.ts';
import {
  CODE_CONTAINER_IDLE_MS,
  CODE_FILES_BYTES_MAX,
  CODE_FILES_MAX,
  CODE_OUTPUT_BYTES_MAX,
  CODE_START_MS_MAX,
  CODE_TEXT_CHARACTERS_MAX,
} from '../../core/limits.ts';
import type { CodeInterpreter } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import { unlessAborted } from '../../lib/unless-aborted.ts';
import { chooseSandboxes } from './choose-sandboxes.ts';
import type { Candidates, CodeDriver, CodeLevel } from './choose-sandboxes.ts';
import { createContainers } from './containers.ts';
import type { Containers } from './containers.ts';
import { findInputs } from './input-files.ts';
import { prepareSandbox } from './prepare-sandbox.ts';

export interface CodeInterpreterOptions {
  readonly level: CodeLevel;
  readonly driver: CodeDriver;
  /** Of a container engine, where one is the driver. */
  readonly image: string;
  /** MiB of Python's memory in one container. */
  readonly memoryMb: number;
  /** Of one program, by the clock. */
  readonly seconds: number;
  readonly containersMax: number;
  /** Processes that are kept ready for new containers; default: one, where the machine has 4 GiB and more. */
  readonly warm?: number | undefined;
  /** Wheels for Pyodide that programs may import from. */
  readonly wheelsFolder?: string | undefined;
  /** Ours, made where it is not there: an image of the interpreter. Nobody else may get into it. */
  readonly folder: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** What could contain programs here; default: what this machine has. */
  readonly candidates?: Candidates;
}

export interface CodeInterpreterStatus {
  /** What the configuration asks for. */
  readonly asked: CodeLevel;
  /** What holds. `unproven`: nobody has needed it yet; `off` with the reason where it does not hold. */
  readonly inForce: CodeLevel | 'unproven';
  /** What programs are kept in. */
  readonly sandbox?: string;
  /** Processes that wait for the next container. */
  readonly inReserve: number;
  readonly reason?: string;
}

export interface RunningCodeInterpreter extends CodeInterpreter {
  /** Attacks the sandbox, once: some seconds. Whoever opens a container waits for it. */
  prepare(): Promise<CodeInterpreterStatus>;
  status(): CodeInterpreterStatus;
  /** Ends all programs. */
  close(): Promise<void>;
}

/** Below it, in bytes, nothing is kept ready: one process in reserve takes 250 MB. */
const WARM_MEMORY_BYTES = 4 * 2 ** 30;

const OFF_REASON = 'the configuration says codeInterpreter.level: off';

/**
 * Runs programs in Python, each conversation's in a process of its own. Nothing is started before `prepare` or the first `open`;
 * where the sandbox does not hold what it is attacked with, no program runs at all.
 */
export function createCodeInterpreter(options: CodeInterpreterOptions): RunningCodeInterpreter {
  const { level, memoryMb, log, clock = systemClock } = options;
  const warm = options.warm ?? (totalmem() >= WARM_MEMORY_BYTES ? 1 : 0);
  let status: Omit<CodeInterpreterStatus, 'inReserve'> =
    level === 'off' ? { asked: level, inForce: 'off', reason: OFF_REASON } : { asked: level, inForce: 'unproven' };
  let prepared: Promise<Containers | undefined> | undefined;
  let containers: Containers | undefined;
  const closing = new AbortController();

  const prepare = async (): Promise<Containers | undefined> => {
    if (level === 'off') return undefined;
    const candidates = options.candidates ?? chooseSandboxes({ ...options, level });
    const { sandbox, start, reasons } = await prepareSandbox(candidates, {
      ...options,
      signal: closing.signal,
      startMsMax: CODE_START_MS_MAX,
      limits: {
        memoryBytes: memoryMb * 2 ** 20,
        outputBytesMax: CODE_OUTPUT_BYTES_MAX,
        textCharactersMax: CODE_TEXT_CHARACTERS_MAX,
        filesMax: CODE_FILES_MAX,
        filesBytesMax: CODE_FILES_BYTES_MAX,
      },
    });
    const reason = withoutPaths(reasons.join('; '));
    if (!sandbox) {
      status = { asked: level, inForce: 'off', reason: `programs cannot be contained at level ${level}: ${reason}` };
      log.warn('the code interpreter stays off', { level, reason: reasons.join('; ') });
      return undefined;
    }
    status = { asked: level, inForce: sandbox.level, sandbox: sandbox.name, ...(reason !== '' && { reason }) };
    log.info('the code interpreter holds', { level, sandbox: sandbox.name });
    if (closing.signal.aborted) return undefined;
    const { containersMax } = options;
    containers = createContainers({ start, containersMax, warm, idleMs: CODE_CONTAINER_IDLE_MS, clock, log });
    return containers;
  };
  const once = (): Promise<Containers | undefined> =>
    (prepared ??= prepare().catch((error: unknown) => {
      const reason = withoutPaths(error instanceof Error ? error.message : String(error));
      status = { asked: level, inForce: 'off', reason };
      log.error('the code interpreter stays off', { level, error });
      return undefined;
    }));

  const tell = (): CodeInterpreterStatus => ({ ...status, inReserve: containers?.inReserve() ?? 0 });
  return {
    async prepare() {
      await once();
      return tell();
    },
    status: tell,
    async open({ workspace, containerId, files }, signal) {
      signal.throwIfAborted();
      const open = await unlessAborted(once(), signal);
      if (!open || closing.signal.aborted) {
        throw new ServiceError(
          'unsupported',
          `The code interpreter is off: ${status.reason ?? 'the service is closing'}.`,
        );
      }
      const inputs = await findInputs(files, signal);
      return open.open({ workspace, containerId, inputs }, signal);
    },
    async close() {
      closing.abort(new Error('the service is closing'));
      await prepared;
      await containers?.close();
    },
  };
}

/** Callers are told the reason, and nothing of where things lie on this machine. */
const withoutPaths = (reason: string): string => reason.replaceAll(/(?<!\w)(?:\/[^\s:'"/]+){2,}/g, '…');
