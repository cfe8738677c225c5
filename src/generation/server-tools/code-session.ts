import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { ANSWER_PROGRAMS_MAX, ANSWER_TOOLS_MS_MAX, PROGRAM_BYTES_MAX } from './limits.ts';
import type {
  CodeContainer,
  CodeFile,
  CodeInterpreter,
  CodeToolOptions,
  ServerCallResult,
} from '../../core/server-tools.ts';
import { errorToFailure } from './error-to-failure.ts';
import type { EventBatch, AnswerSession } from './answer-session.ts';

/** Files of the caller, placed where programs can read them until `release`. */
export interface ProgramFiles {
  readonly files: readonly { readonly name: string; readonly path: string }[];
  release(): void;
}

/** @throws ServiceError `file-not-found` for a file that the owner does not have. */
export type OpenCallerFiles = (ids: readonly string[], owner: Owner) => Promise<ProgramFiles>;

/** Stores a file that a program wrote, so that the caller can download it. */
export type StoreFile = (file: CodeFile, owner: Owner) => Promise<{ readonly fileId: string; readonly url: string }>;

export interface CodeSessionDeps {
  readonly code: CodeInterpreter | undefined;
  readonly openCallerFiles: OpenCallerFiles | undefined;
  readonly storeFile: StoreFile | undefined;
}

type CodeResult = ServerCallResult & { readonly type: 'code' };

/** Runs the programs of one answer in one container. */
export interface CodeSession {
  /** Whether another program may run. Calls without a program count, too. */
  hasRunsLeft(): boolean;
  /**
   * Runs a program and yields its events. `undefined`: the call contained no program. `onResult` receives the result.
   */
  run(program: string | undefined, onResult: (result: CodeResult) => void): AsyncGenerator<EventBatch>;
}

/**
 * Opens the container before the stream starts, so that a refusal gets its HTTP status. Closing the answer session
 * releases it.
 * @throws ServiceError `unsupported` when no code interpreter is configured, `overloaded`, `file-not-found`.
 */
export async function openCodeSession(
  answer: AnswerSession,
  options: CodeToolOptions,
  { code, openCallerFiles, storeFile }: CodeSessionDeps,
): Promise<CodeSession> {
  const { context } = answer;
  const { owner, signal } = context;
  if (!code) throw new ServiceError('unsupported', 'The code interpreter is disabled on this server.');
  const usesMax = Math.min(options.usesMax ?? Infinity, ANSWER_PROGRAMS_MAX);
  let callerFiles: ProgramFiles | undefined;
  if (options.fileIds.length > 0) {
    if (!openCallerFiles)
      throw new ServiceError('unsupported', 'Input files for programs are not supported on this server.');
    callerFiles = await openCallerFiles(options.fileIds, owner);
    answer.onClose(callerFiles.release);
  }
  const openContainer = async (containerId?: string): Promise<CodeContainer> => {
    const opened = await code.open({ tenant: owner, containerId, files: callerFiles?.files ?? [] }, signal);
    answer.onClose(() => opened.release());
    return opened;
  };
  let container = await openContainer(options.containerId);
  /** Whether a limit has ended the last program, and its container with it. */
  let isContainerClosed = false;
  let runs = 0;

  /** Opens a new container for the next program after a limit has closed the last one. @returns why there is none. */
  const replaceClosedContainer = async (): Promise<CodeResult | undefined> => {
    if (!isContainerClosed) return undefined;
    try {
      container = await openContainer();
      isContainerClosed = false;
      return undefined;
    } catch (error) {
      if (signal.aborted) throw error;
      return { type: 'code', failure: errorToFailure(error) };
    }
  };

  const runOnce = async (program: string | undefined): Promise<CodeResult> => {
    const isLimitReached = runs >= usesMax;
    runs++;
    if (program === undefined) return createFailure('invalid-input', 'The call contains no program.');
    if (isLimitReached) return createFailure('too-many-uses', `An answer may run at most ${usesMax} programs.`);
    if (Buffer.byteLength(program) > PROGRAM_BYTES_MAX)
      return createFailure('too-long', `A program may have at most ${PROGRAM_BYTES_MAX} bytes.`);
    try {
      const output = await answer.runWithTimeout(ANSWER_TOOLS_MS_MAX, (limit) => container.run(program, limit));
      answer.countUse('programs');
      isContainerClosed = output.error !== undefined && output.error.type !== 'exception';
      return { type: 'code', output: { ...output, files: await storeFiles(output.files) } };
    } catch (error) {
      if (signal.aborted) throw error;
      return { type: 'code', failure: errorToFailure(error) };
    }
  };

  const storeFiles = async (files: readonly CodeFile[]): Promise<readonly CodeFile[]> => {
    if (!storeFile) return files;
    const withStorage: CodeFile[] = [];
    for (const file of files)
      withStorage.push(
        await storeFile(file, owner).then(
          (storedFile) => ({ ...file, stored: storedFile }),
          (error: unknown) => {
            context.log.warn('storing a program output file failed', {
              error: ServiceError.from(error).message,
            });
            return file;
          },
        ),
      );
    return withStorage;
  };

  return {
    hasRunsLeft: () => runs < usesMax && answer.hasToolTime(),
    async *run(program, onResult) {
      const failed = await replaceClosedContainer();
      const call = answer.startCall({ type: 'code', code: program ?? '', containerId: container.id });
      yield answer.prependStart(call.events);
      const result = failed ?? (await runOnce(program));
      onResult(result);
      yield call.end(result);
    },
  };
}

const createFailure = (code: 'invalid-input' | 'too-many-uses' | 'too-long', message: string): CodeResult => ({
  type: 'code',
  failure: { code, message },
});
