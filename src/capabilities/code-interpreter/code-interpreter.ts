import { totalmem } from 'node:os';
import { ServiceError } from '../../core/error.ts';
import { CODE_CONTAINER_IDLE_MS } from '../../core/limits.ts';
import {
  CODE_FILES_BYTES_MAX,
  CODE_FILES_MAX,
  CODE_OUTPUT_BYTES_MAX,
  CODE_START_MS_MAX,
  CODE_TEXT_CHARS_MAX,
  SANDBOX_CHECK_RETRY_MS,
  CODE_CONTAINER_PROTECTED_MS,
} from './limits.ts';
import type { CodeInterpreter } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import { raceWithAbort } from '../../lib/race-with-abort.ts';
import { chooseSandboxes } from './choose-sandboxes.ts';
import type { SandboxCandidates, CodeDriver, CodeLevel } from './choose-sandboxes.ts';
import { createContainerPool } from './container-pool.ts';
import type { ContainerPool } from './container-pool.ts';
import { prepareInputFiles } from './input-files.ts';
import { prepareSandbox } from './prepare-sandbox.ts';
import { createSandboxCheck } from './sandbox-check.ts';
import type { SandboxCheck, SandboxCheckResult } from './sandbox-check.ts';

export interface CodeInterpreterOptions {
  readonly level: CodeLevel;
  readonly driver: CodeDriver;
  /** Image for a container engine, if one is the driver. */
  readonly image: string;
  /** MiB of memory for Python in one container. */
  readonly memoryMb: number;
  /** Wall-clock limit of one program. */
  readonly seconds: number;
  readonly containersMax: number;
  /** Containers of one workspace in one region. Default: half of `containersMax`, rounded up. */
  readonly containersPerWorkspace?: number | undefined;
  /** Time for which an unused container is kept from other workspaces. Default: CODE_CONTAINER_PROTECTED_MS. */
  readonly protectedMs?: number | undefined;
  /** Number of processes kept ready for new containers. Default: 1 on a machine with at least 4 GiB of memory. */
  readonly warm?: number | undefined;
  /** Folder of Pyodide wheels that programs may import. */
  readonly wheelsFolder?: string | undefined;
  /** Folder for the snapshot of the interpreter, created if missing. Must not be accessible to other users. */
  readonly folder: string;
  readonly log: Log;
  readonly clock?: Clock;
  readonly startInterval?: StartInterval;
  /** Sandboxes to try. Default: those of this machine. */
  readonly candidates?: SandboxCandidates;
}

export interface CodeInterpreterStatus {
  /** Level of the configuration. */
  readonly configuredLevel: CodeLevel;
  /** Verified level. `unproven`: not verified yet; `off`: disabled or not verifiable, with a reason. */
  readonly effectiveLevel: CodeLevel | 'unproven';
  /** Name of the sandbox. */
  readonly sandbox?: string;
  /** Layers of the sandbox that the verification has found active. */
  readonly layers?: readonly string[];
  /** Number of ready processes that wait for a container. */
  readonly warmProcesses: number;
  readonly reason?: string;
}

export interface RunningCodeInterpreter extends CodeInterpreter {
  /**
   * Verifies the sandbox by attacking it, which takes some seconds; `open` waits for it. An attempt that takes too long
   * is repeated after the pauses of SANDBOX_CHECK_RETRY_MS.
   */
  verify(): Promise<CodeInterpreterStatus>;
  status(): CodeInterpreterStatus;
  /** Ends all programs. */
  close(): Promise<void>;
}

/** Memory in bytes below which no process is kept ready: one takes 250 MB. */
const WARM_MEMORY_BYTES = 4 * 2 ** 30;

const OFF_REASON = 'the configuration sets codeInterpreter.level: off';

/**
 * Runs Python programs, each conversation's in a process of its own. Starts nothing before the first `verify` or
 * `open`; no program runs if the sandbox does not withstand the attacks.
 */
export function createCodeInterpreter(options: CodeInterpreterOptions): RunningCodeInterpreter {
  const { level, memoryMb, log, clock = systemClock } = options;
  const warm = options.warm ?? (totalmem() >= WARM_MEMORY_BYTES ? 1 : 0);
  let status: Omit<CodeInterpreterStatus, 'warmProcesses'> =
    level === 'off'
      ? { configuredLevel: level, effectiveLevel: 'off', reason: OFF_REASON }
      : { configuredLevel: level, effectiveLevel: 'unproven' };
  let containerPool: ContainerPool | undefined;
  const closing = new AbortController();

  const attemptPreparation = async (): Promise<SandboxCheckResult<ContainerPool>> => {
    if (level === 'off') return { isTimeout: false };
    const candidates = options.candidates ?? chooseSandboxes({ ...options, level });
    const prepared = await prepareSandbox(candidates, {
      ...options,
      signal: closing.signal,
      startMsMax: CODE_START_MS_MAX,
      limits: {
        memoryBytes: memoryMb * 2 ** 20,
        outputBytesMax: CODE_OUTPUT_BYTES_MAX,
        textCharactersMax: CODE_TEXT_CHARS_MAX,
        filesMax: CODE_FILES_MAX,
        filesBytesMax: CODE_FILES_BYTES_MAX,
      },
    });
    const { sandbox, start, reasons, layers } = prepared;
    const reason = redactPaths(reasons.join('; '));
    if (!sandbox) {
      status = {
        configuredLevel: level,
        effectiveLevel: 'off',
        reason: `programs cannot be contained at level ${level}: ${reason}`,
      };
      const { isTimeout } = prepared;
      log.warn('code interpreter disabled', { sandboxLevel: level, reason: reasons.join('; '), willRetry: isTimeout });
      return { isTimeout };
    }
    status = {
      configuredLevel: level,
      effectiveLevel: sandbox.level,
      sandbox: sandbox.name,
      layers,
      ...(reason !== '' && { reason }),
    };
    log.info('sandbox verification passed', {
      sandboxLevel: level,
      sandbox: sandbox.name,
      layers,
      ...(reasons.length > 0 && { reason: reasons.join('; ') }),
    });
    if (closing.signal.aborted) return { isTimeout: false };
    const { containersMax, containersPerWorkspace = Math.ceil(containersMax / 2) } = options;
    const sizes = { containersMax, containersPerTenant: containersPerWorkspace, warm };
    const { protectedMs = CODE_CONTAINER_PROTECTED_MS } = options;
    const times = { idleMs: CODE_CONTAINER_IDLE_MS, protectedMs };
    containerPool = createContainerPool({ start, ...sizes, ...times, clock, log });
    return { value: containerPool };
  };
  const check = createSandboxCheck({
    attempt: () =>
      attemptPreparation().catch((error: unknown) => {
        const reason = redactPaths(error instanceof Error ? error.message : String(error));
        status = { configuredLevel: level, effectiveLevel: 'off', reason };
        log.error('code interpreter disabled', { sandboxLevel: level, error });
        return { isTimeout: false };
      }),
    pausesMs: SANDBOX_CHECK_RETRY_MS,
    clock,
    startInterval: options.startInterval,
  });

  const getStatus = (): CodeInterpreterStatus => ({
    ...status,
    ...(status.effectiveLevel === 'off' && { reason: `${status.reason}${describeNextAttempt(check)}` }),
    warmProcesses: containerPool?.countWarm() ?? 0,
  });
  return {
    async verify() {
      await check.get();
      return getStatus();
    },
    status: getStatus,
    async open({ tenant: { region, workspace }, containerId, files }, signal) {
      signal.throwIfAborted();
      const pool = await raceWithAbort(check.get(), signal);
      if (!pool || closing.signal.aborted) {
        throw new ServiceError(
          'unsupported',
          `The code interpreter is off: ${getStatus().reason ?? 'the service is closing'}.`,
        );
      }
      const inputs = await prepareInputFiles(files, signal);
      return pool.open({ tenant: `${region} ${workspace}`, containerId, inputs }, signal);
    },
    async close() {
      closing.abort(new Error('the service is closing'));
      await check.close();
      await containerPool?.close();
    },
  };
}

function describeNextAttempt(proof: Pick<SandboxCheck<unknown>, 'getNextAttemptMs' | 'waitsForCaller'>): string {
  const ms = proof.getNextAttemptMs();
  if (ms === undefined) return '';
  const seconds = Math.ceil(ms / 1_000);
  if (proof.waitsForCaller())
    return `; it is retried when a program is requested${seconds > 0 ? ` in ${seconds} s or later` : ''}`;
  return seconds > 0 ? `; it is retried in ${seconds} s` : '; a retry is in progress';
}

/** Removes paths of this machine, because callers receive the reason. */
const redactPaths = (reason: string): string => reason.replaceAll(/(?<!\w)(?:\/[^\s:'"/]+){2,}/g, '…');
