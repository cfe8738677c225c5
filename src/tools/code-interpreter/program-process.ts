import { randomBytes } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import type { CodeError, CodeFile, CodeOutput } from '../../core/server-tools.ts';
import type { InputFile, ProgramLimits, Report } from './child/messages.ts';
import { fileName, mediaTypeOf } from './code-files.ts';
import { OutOfTime } from './out-of-time.ts';
import { startSandboxed } from './sandboxed-process.ts';
import type { ProcessEnd } from './sandboxed-process.ts';
import type { Sandbox } from './sandboxes/sandbox.ts';

/** A process in which programs run one after the other, with the variables and files of those before. */
export interface ProgramProcess {
  /** @throws Error with the reason, where it never got ready; OutOfTime where it took too long. */
  readonly ready: Promise<void>;
  /** It runs nothing any more. */
  readonly ended: Promise<unknown>;
  /**
   * One at a time. Resolves also where the program failed; where a limit ended it, the process is gone.
   * @throws the signal's reason, and the process is gone.
   */
  run(program: Program, signal: AbortSignal): Promise<CodeOutput>;
  kill(): void;
}

export interface Program {
  readonly code: string;
  readonly files: readonly InputFile[];
}

export interface ProgramProcessOptions {
  readonly limits: ProgramLimits;
  /** Of one program, by the clock. */
  readonly msMax: number;
  readonly startMsMax: number;
  readonly wheelNames: readonly string[];
}

/** Of what is said around a file or a text. */
const REPORT_BYTES = 64 * 1024;

export function startProgramProcess(sandbox: Sandbox, options: ProgramProcessOptions): ProgramProcess {
  const { limits, msMax } = options;
  const { filesBytesMax, textCharactersMax } = limits;
  // In base64, and a text with every character escaped.
  const lineBytesMax = Math.ceil((filesBytesMax * 4) / 3) + textCharactersMax * 12 + REPORT_BYTES;
  const launch = sandbox.launch({ name: 'main', isSealed: true });
  const child = startSandboxed(launch, { lineBytesMax });
  const { childFolder: _, ...places } = launch.places;
  let nonce = newNonce();

  const ready = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => child.kill('time'), options.startMsMax);
    void child.ended.then((end) => {
      clearTimeout(timer);
      const reason = `the interpreter did not get ready: ${describeEnd(end)}`;
      reject(end.killed === 'time' ? new OutOfTime(reason) : new Error(reason));
    });
    child.hear((report) => {
      clearTimeout(timer);
      if (report.type === 'ready' && report.nonce === nonce) return resolve();
      reject(new Error(`the interpreter did not get ready: ${report.type === 'broken' ? report.reason : report.type}`));
      child.kill('output');
    });
  });
  // Whoever waits for it hears of it; a process in reserve may have nobody.
  ready.catch(() => undefined);
  const { wheelNames } = options;
  child.say({ type: 'start', nonce, ...placesOfOrder(places), wheelNames, isForSnapshot: false, limits });

  const run = (program: Program, signal: AbortSignal): Promise<CodeOutput> =>
    new Promise((resolve, reject) => {
      nonce = newNonce();
      const gathered = createOutput(limits);
      let isOver = false;
      const onAbort = (): void => child.kill('aborted');
      const timer = setTimeout(() => child.kill('time'), msMax);
      const over = (): void => {
        isOver = true;
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const hear = (report: Report): void => {
        if (report.type === 'broken') return child.kill('done');
        // What was said for the program before, or by somebody who does not know what only we and the process do.
        if (isOver || report.nonce !== nonce) return child.kill('output');
        switch (report.type) {
          case 'printed':
            if (!gathered.print(report.stream, report.bytes)) child.kill('output');
            return;
          case 'file':
            if (!gathered.file(report.name, report.bytes)) child.kill('output');
            return;
          case 'done': {
            over();
            const { value, error, isCut } = report.outcome;
            const failure: CodeError | undefined =
              error === undefined ? undefined : { type: 'exception', message: error };
            return resolve(gathered.end({ value, error: failure, isCut }));
          }
          case 'ready':
          case 'snapshot':
            return child.kill('output');
        }
      };
      void child.ended.then((end) => {
        if (isOver) return;
        over();
        if (end.killed === 'aborted') reject(signal.reason as Error);
        else resolve(gathered.end({ error: errorOf(end, msMax), isCut: false }));
      });
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      child.hear(hear);
      child.say({ type: 'run', nonce, ...program });
    });

  return { ready, ended: child.ended, run, kill: () => child.kill('done') };
}

function placesOfOrder({
  pyodideFolder,
  snapshotFile,
  wheelsFolder,
}: Omit<ReturnType<Sandbox['launch']>['places'], 'childFolder'>) {
  return {
    pyodideFolder,
    ...(snapshotFile !== undefined && { snapshotFile }),
    ...(wheelsFolder !== undefined && { wheelsFolder }),
  };
}

/** What came of a program. The process keeps to the limits by itself: they hold also where it does not. */
function createOutput({ outputBytesMax, textCharactersMax, filesMax, filesBytesMax }: ProgramLimits) {
  const texts = { stdout: '', stderr: '' };
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  const left = { stdout: outputBytesMax, stderr: outputBytesMax, files: filesBytesMax };
  const files: CodeFile[] = [];
  const cut = (text: string): string => text.slice(0, textCharactersMax);
  return {
    /** @returns false where it is more than there may be, or nothing. */
    print(stream: 'stdout' | 'stderr', base64: string): boolean {
      const bytes = Buffer.from(base64, 'base64');
      left[stream] -= bytes.length;
      if (bytes.length === 0 || left[stream] < 0) return false;
      texts[stream] += decoders[stream].write(bytes);
      return true;
    },
    /** @returns false where it is more than there may be. */
    file(name: string, base64: string): boolean {
      const bytes = Buffer.from(base64, 'base64');
      left.files -= bytes.length;
      if (files.length === filesMax || left.files < 0) return false;
      const own = fileName(name, new Set(files.map((file) => file.name)));
      files.push({ name: own, mediaType: mediaTypeOf(own), bytes });
      return true;
    },
    end({
      value,
      error,
      isCut,
    }: {
      value?: string | undefined;
      error?: CodeError | undefined;
      isCut: boolean;
    }): CodeOutput {
      const isLonger = [value, error?.message].some((text) => text !== undefined && text.length > textCharactersMax);
      return {
        stdout: texts.stdout + decoders.stdout.end(),
        stderr: texts.stderr + decoders.stderr.end(),
        ...(value !== undefined && { value: cut(value) }),
        ...(error !== undefined && { error: { ...error, message: cut(error.message) } }),
        files,
        isCut: isCut || isLonger,
      };
    },
  };
}

/** What the runtime says, and what the system's limits lead to, where there is no memory left. */
const OUT_OF_MEMORY = /out of memory|allocation failed|failed to (allocate|reserve)|cannot allocate|bad_alloc|ENOMEM/i;

/** Exit codes of containers and shells for a process that was killed or ran out of its processor time. */
const KILLED_BY_SYSTEM = new Set(['SIGKILL', 'code 137']);
const OUT_OF_CPU = new Set(['SIGXCPU', 'code 152']);

function errorOf(end: ProcessEnd, msMax: number): CodeError {
  if (end.killed === 'time') {
    return {
      type: 'time',
      message: `The program took longer than ${msMax / 1000} s and was ended; its container is gone.`,
    };
  }
  if (OUT_OF_CPU.has(end.by)) {
    return { type: 'time', message: 'The container has used up its processor time; it is gone.' };
  }
  if (end.killed === 'output') {
    return {
      type: 'output',
      message: 'The program said more than it may, or what only its interpreter may; its container is gone.',
    };
  }
  const isMemory = OUT_OF_MEMORY.test(end.said) || (end.killed === undefined && KILLED_BY_SYSTEM.has(end.by));
  return isMemory
    ? { type: 'memory', message: 'The program used more memory than it may and was ended; its container is gone.' }
    : { type: 'lost', message: 'The program ended its interpreter; its container is gone.' };
}

const describeEnd = ({ killed, by, said }: ProcessEnd): string =>
  [killed === 'time' ? 'it took too long' : by, said.trim()].filter((text) => text !== '').join(': ');

const newNonce = (): string => randomBytes(12).toString('hex');
