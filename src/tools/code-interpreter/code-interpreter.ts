import { totalmem } from 'node:os';
import { ServiceError } from '../../core/error.ts';
import {
  CODE_CONTAINER_IDLE_MS,
  CODE_FILES_BYTES_MAX,
  CODE_FILES_MAX,
  CODE_OUTPUT_BYTES_MAX,
  CODE_START_MS_MAX,
  CODE_TEXT_CHARACTERS_MAX,
  CODE_TRIAL_PAUSES_MS,
} from '../../core/limits.ts';
import type { CodeInterpreter } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Every } from '../../lib/every.ts';
import { unlessAborted } from '../../lib/unless-aborted.ts';
import { chooseSandboxes } from './choose-sandboxes.ts';
import type { Candidates, CodeDriver, CodeLevel } from './choose-sandboxes.ts';
import { createContainers } from './containers.ts';
import type { Containers } from './containers.ts';
import { findInputs } from './input-files.ts';
import { prepareSandbox } from './prepare-sandbox.ts';
import { createProof } from './proof.ts';
import type { Proof, Tried } from './proof.ts';

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
  readonly every?: Every;
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
  /**
   * Attacks the sandbox: some seconds. Whoever opens a container waits for it. What took too long is tried again, as
   * CODE_TRIAL_PAUSES_MS says.
   */
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
  let containers: Containers | undefined;
  const closing = new AbortController();

  const prepare = async (): Promise<Tried<Containers>> => {
    if (level === 'off') return { isLate: false };
    const candidates = options.candidates ?? chooseSandboxes({ ...options, level });
    const prepared = await prepareSandbox(candidates, {
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
    const { sandbox, start, reasons } = prepared;
    const reason = withoutPaths(reasons.join('; '));
    if (!sandbox) {
      status = { asked: level, inForce: 'off', reason: `programs cannot be contained at level ${level}: ${reason}` };
      const { isLate } = prepared;
      log.warn('the code interpreter stays off', { level, reason: reasons.join('; '), isTriedAgain: isLate });
      return { isLate };
    }
    status = { asked: level, inForce: sandbox.level, sandbox: sandbox.name, ...(reason !== '' && { reason }) };
    log.info('the code interpreter holds', { level, sandbox: sandbox.name });
    if (closing.signal.aborted) return { isLate: false };
    const { containersMax } = options;
    containers = createContainers({ start, containersMax, warm, idleMs: CODE_CONTAINER_IDLE_MS, clock, log });
    return { held: containers };
  };
  const proof = createProof({
    attempt: () =>
      prepare().catch((error: unknown) => {
        const reason = withoutPaths(error instanceof Error ? error.message : String(error));
        status = { asked: level, inForce: 'off', reason };
        log.error('the code interpreter stays off', { level, error });
        return { isLate: false };
      }),
    pausesMs: CODE_TRIAL_PAUSES_MS,
    clock,
    every: options.every,
  });

  const tell = (): CodeInterpreterStatus => ({
    ...status,
    ...(status.inForce === 'off' && { reason: `${status.reason}${nextTrial(proof)}` }),
    inReserve: containers?.inReserve() ?? 0,
  });
  return {
    async prepare() {
      await proof.get();
      return tell();
    },
    status: tell,
    async open({ workspace, containerId, files }, signal) {
      signal.throwIfAborted();
      const open = await unlessAborted(proof.get(), signal);
      if (!open || closing.signal.aborted) {
        throw new ServiceError(
          'unsupported',
          `The code interpreter is off: ${tell().reason ?? 'the service is closing'}.`,
        );
      }
      const inputs = await findInputs(files, signal);
      return open.open({ workspace, containerId, inputs }, signal);
    },
    async close() {
      closing.abort(new Error('the service is closing'));
      await proof.close();
      await containers?.close();
    },
  };
}

function nextTrial(proof: Pick<Proof<unknown>, 'nextInMs' | 'waitsForCaller'>): string {
  const ms = proof.nextInMs();
  if (ms === undefined) return '';
  const seconds = Math.ceil(ms / 1_000);
  if (proof.waitsForCaller())
    return `; it is tried again when a program is asked for${seconds > 0 ? ` in ${seconds} s or later` : ''}`;
  return seconds > 0 ? `; it is tried again in ${seconds} s` : '; it is being tried again';
}

/** Callers are told the reason, and nothing of where things lie on this machine. */
const withoutPaths = (reason: string): string => reason.replaceAll(/(?<!\w)(?:\/[^\s:'"/]+){2,}/g, '…');
