import { randomBytes } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import type { CodeError, CodeFile, CodeOutput } from '../../core/server-tools.ts';
import type { InterpreterReport, ProgramLimits, RunProgramCommand } from './child/messages.ts';
import { createUniqueFileName, getMediaType } from './code-files.ts';
import { SandboxTimeoutError } from './sandbox-timeout-error.ts';
import { startSandboxedProcess } from './sandboxed-process.ts';
import type { ProcessTermination } from './sandboxed-process.ts';
import type { Sandbox } from './sandboxes/sandbox.ts';

/** A process that runs programs one after the other. Variables and files stay from one to the next. */
export interface ProgramProcess {
  /** Resolves when programs can run. @throws Error with the reason; SandboxTimeoutError if the start took too long. */
  readonly ready: Promise<void>;
  /** Resolves when the process has ended. */
  readonly termination: Promise<unknown>;
  /** Resolves when nothing of the process is left: its container is removed, too. Never rejects. */
  readonly removal: Promise<void>;
  /**
   * Runs one program at a time. Resolves also for a failed program; if it exceeded a limit, the process is killed.
   * @throws the signal's reason, after killing the process.
   */
  run(program: Pick<RunProgramCommand, 'code' | 'files'>, signal: AbortSignal): Promise<CodeOutput>;
  kill(): void;
}

export interface ProgramProcessOptions {
  readonly limits: ProgramLimits;
  /** Wall-clock limit of one program. */
  readonly msMax: number;
  readonly startMsMax: number;
  readonly wheelNames: readonly string[];
}

/** Allowance for the JSON around a file or a text. */
const REPORT_OVERHEAD_BYTES = 64 * 1024;

export function startProgramProcess(sandbox: Sandbox, options: ProgramProcessOptions): ProgramProcess {
  const { limits, msMax } = options;
  const { filesBytesMax, textCharactersMax } = limits;
  // Upper bound of a line: base64, and a text with every character escaped.
  const lineBytesMax = Math.ceil((filesBytesMax * 4) / 3) + textCharactersMax * 12 + REPORT_OVERHEAD_BYTES;
  const launch = sandbox.launch({ name: 'main', usesPermissions: true, usesFilter: true });
  const child = startSandboxedProcess(launch, lineBytesMax);
  let nonce = createNonce();

  const ready = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => child.kill('time'), options.startMsMax);
    void child.termination.then((end) => {
      clearTimeout(timer);
      const reason = describeFailedStart(describeTermination(end));
      reject(end.killReason === 'time' ? new SandboxTimeoutError(reason) : new Error(reason));
    });
    child.setListener((report) => {
      clearTimeout(timer);
      if (report.type === 'ready' && report.nonce === nonce) return resolve();
      reject(new Error(describeFailedStart(report.type === 'broken' ? report.reason : report.type)));
      child.kill('output');
    });
  });
  // Prevents an unhandled rejection: nobody may be waiting for a process of the warm pool.
  ready.catch(() => undefined);
  const { pyodideFolder, snapshotFile, wheelsFolder } = launch.paths;
  const places = { pyodideFolder, snapshotFile, wheelsFolder };
  child.send({ type: 'start', nonce, ...places, wheelNames: options.wheelNames, makesSnapshot: false, limits });

  const run: ProgramProcess['run'] = (program, signal) =>
    new Promise((resolve, reject) => {
      nonce = createNonce();
      const collector = createOutputCollector(limits);
      let isSettled = false;
      const onAbort = (): void => child.kill('aborted');
      const timer = setTimeout(() => child.kill('time'), msMax);
      const settle = (): void => {
        isSettled = true;
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const onReport = (report: InterpreterReport): void => {
        if (report.type === 'broken') return child.kill('done');
        // A report on an earlier program, or one forged by a program, which does not know the nonce.
        if (isSettled || report.nonce !== nonce) return child.kill('output');
        switch (report.type) {
          case 'output':
            if (!collector.print(report.stream, report.bytes)) child.kill('output');
            return;
          case 'file':
            if (!collector.file(report.name, report.bytes)) child.kill('output');
            return;
          case 'done': {
            settle();
            const { value, error, isTruncated } = report.outcome;
            const failure: CodeError | undefined =
              error === undefined ? undefined : { type: 'exception', message: error };
            return resolve(collector.end({ value, error: failure, isTruncated }));
          }
          case 'ready':
          case 'snapshot':
            return child.kill('output');
        }
      };
      void child.termination.then((end) => {
        if (isSettled) return;
        settle();
        if (end.killReason === 'aborted') reject(signal.reason as Error);
        else resolve(collector.end({ error: terminationToError(end, msMax), isTruncated: false }));
      });
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      child.setListener(onReport);
      child.send({ type: 'run', nonce, ...program });
    });

  return { ready, termination: child.termination, removal: child.removal, run, kill: () => child.kill('done') };
}

/** Collects the output of a program. Enforces the limits again, because a program may have compromised the process. */
function createOutputCollector({ outputBytesMax, textCharactersMax, filesMax, filesBytesMax }: ProgramLimits) {
  const texts = { stdout: '', stderr: '' };
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  const bytesLeft = { stdout: outputBytesMax, stderr: outputBytesMax, files: filesBytesMax };
  const files: CodeFile[] = [];
  const truncate = (text: string): string => text.slice(0, textCharactersMax);
  return {
    /** @returns false if the output is empty or above the limit. */
    print(stream: 'stdout' | 'stderr', base64: string): boolean {
      const bytes = Buffer.from(base64, 'base64');
      bytesLeft[stream] -= bytes.length;
      if (bytes.length === 0 || bytesLeft[stream] < 0) return false;
      texts[stream] += decoders[stream].write(bytes);
      return true;
    },
    /** @returns false if there are too many files or bytes. */
    file(name: string, base64: string): boolean {
      const bytes = Buffer.from(base64, 'base64');
      bytesLeft.files -= bytes.length;
      if (files.length === filesMax || bytesLeft.files < 0) return false;
      const uniqueName = createUniqueFileName(name, new Set(files.map((file) => file.name)));
      files.push({ name: uniqueName, mediaType: getMediaType(uniqueName), bytes });
      return true;
    },
    end({
      value,
      error,
      isTruncated,
    }: {
      value?: string | undefined;
      error?: CodeError | undefined;
      isTruncated: boolean;
    }): CodeOutput {
      const isLonger = [value, error?.message].some((text) => text !== undefined && text.length > textCharactersMax);
      return {
        stdout: texts.stdout + decoders.stdout.end(),
        stderr: texts.stderr + decoders.stderr.end(),
        ...(value !== undefined && { value: truncate(value) }),
        ...(error !== undefined && { error: { ...error, message: truncate(error.message) } }),
        files,
        isTruncated: isTruncated || isLonger,
      };
    },
  };
}

/** Messages of the runtime and the system when there is no memory left. */
const OUT_OF_MEMORY = /out of memory|allocation failed|failed to (allocate|reserve)|cannot allocate|bad_alloc|ENOMEM/i;

/** Signals, and exit codes of containers and shells, of a process that was killed or used up its CPU time. */
const KILLED_BY_SYSTEM = new Set(['SIGKILL', 'code 137']);
const OUT_OF_CPU = new Set(['SIGXCPU', 'code 152']);

function terminationToError(end: ProcessTermination, msMax: number): CodeError {
  if (end.killReason === 'time') {
    return {
      type: 'time',
      message: `The program took longer than ${msMax / 1000} s and was ended; its container is closed.`,
    };
  }
  if (OUT_OF_CPU.has(end.cause)) {
    return { type: 'time', message: 'The container has used up its CPU time and is closed.' };
  }
  if (end.killReason === 'output') {
    return {
      type: 'output',
      message: 'The program sent too much output or forged messages of its interpreter; its container is closed.',
    };
  }
  const isMemory = OUT_OF_MEMORY.test(end.stderr) || (end.killReason === undefined && KILLED_BY_SYSTEM.has(end.cause));
  return isMemory
    ? { type: 'memory', message: 'The program exceeded its memory limit and was ended; its container is closed.' }
    : { type: 'lost', message: 'The program ended its interpreter; its container is closed.' };
}

const describeTermination = ({ killReason, cause, stderr }: ProcessTermination): string =>
  [killReason === 'time' ? 'it took too long' : cause, stderr.trim()].filter((text) => text !== '').join(': ');

const createNonce = (): string => randomBytes(12).toString('hex');

const describeFailedStart = (reason: string): string => `the interpreter did not start: ${reason}`;
