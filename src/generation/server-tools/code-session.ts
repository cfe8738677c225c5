import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { ANSWER_PROGRAMS_MAX, ANSWER_TOOLS_MS_MAX, PROGRAM_BYTES_MAX } from '../../core/limits.ts';
import type { CodeFile, CodeInterpreter, CodeWish, ServerCallResult } from '../../core/server-tools.ts';
import { failureOf } from './failure.ts';
import type { Batch, Turn } from './turn.ts';

/** Files of a caller's, as they lie for a program to read, until they are let go of. */
export interface OpenedFiles {
  readonly files: readonly { readonly name: string; readonly path: string }[];
  release(): void;
}

/** @throws ServiceError `file-not-found` for one that is not this owner's. */
export type OpenCallerFiles = (ids: readonly string[], owner: Owner) => Promise<OpenedFiles>;

/** Keeps what a program wrote, for the caller to fetch. */
export type KeepFile = (file: CodeFile, owner: Owner) => Promise<{ readonly fileId: string; readonly url: string }>;

export interface CodeNeeds {
  readonly code: CodeInterpreter | undefined;
  readonly openCallerFiles: OpenCallerFiles | undefined;
  readonly keepFile: KeepFile | undefined;
}

type CodeResult = ServerCallResult & { readonly type: 'code' };

/** Programs of one answer, in one container. */
export interface CodeSession {
  /** A further program may run. Calls that held none count as well. */
  hasUses(): boolean;
  /** Runs it and tells of it; what came of it is handed to `then`. `undefined`: the call held none. */
  run(program: string | undefined, then: (result: CodeResult) => void): AsyncGenerator<Batch>;
}

/**
 * Opens the container before anything is told, so that a refusal has its real status; it is let go of when the turn is over.
 * @throws ServiceError `unsupported` where nothing runs programs, `overloaded`, `file-not-found`.
 */
export async function openCode(
  turn: Turn,
  wish: CodeWish,
  { code, openCallerFiles, keepFile }: CodeNeeds,
): Promise<CodeSession> {
  const { context } = turn;
  const { owner, signal } = context;
  if (!code) throw new ServiceError('unsupported', 'The code interpreter is switched off.');
  const usesMax = Math.min(wish.usesMax ?? Infinity, ANSWER_PROGRAMS_MAX);
  let opened: OpenedFiles | undefined;
  if (wish.fileIds.length > 0) {
    if (!openCallerFiles) throw new ServiceError('unsupported', 'Programs cannot be given files here.');
    opened = await openCallerFiles(wish.fileIds, owner);
    turn.onOver(opened.release);
  }
  const container = await code.open(
    { workspace: owner.workspace, containerId: wish.containerId, files: opened?.files ?? [] },
    signal,
  );
  turn.onOver(() => container.release());
  let uses = 0;

  const runOnce = async (program: string | undefined): Promise<CodeResult> => {
    const isSpent = uses >= usesMax;
    uses++;
    if (program === undefined) return failed('invalid-input', 'The call held no program.');
    if (isSpent) return failed('too-many-uses', `An answer may run ${usesMax} programs.`);
    if (Buffer.byteLength(program) > PROGRAM_BYTES_MAX)
      return failed('too-long', `A program may have ${PROGRAM_BYTES_MAX} bytes.`);
    try {
      const output = await turn.limited(ANSWER_TOOLS_MS_MAX, (limit) => container.run(program, limit));
      turn.count('programs');
      return { type: 'code', output: { ...output, files: await keptFiles(output.files) } };
    } catch (error) {
      if (signal.aborted) throw error;
      return { type: 'code', failure: failureOf(error) };
    }
  };

  const keptFiles = async (files: readonly CodeFile[]): Promise<readonly CodeFile[]> => {
    if (!keepFile) return files;
    const kept: CodeFile[] = [];
    for (const file of files)
      kept.push(
        await keepFile(file, owner).then(
          (where) => ({ ...file, kept: where }),
          (error: unknown) => {
            context.log.warn('a file that a program wrote could not be kept', {
              error: ServiceError.from(error).message,
            });
            return file;
          },
        ),
      );
    return kept;
  };

  return {
    hasUses: () => uses < usesMax && turn.hasTime(),
    async *run(program, then) {
      const call = turn.begin({ type: 'code', code: program ?? '', containerId: container.id });
      yield turn.opened(call.events);
      const result = await runOnce(program);
      then(result);
      yield call.end(result);
    },
  };
}

const failed = (code: 'invalid-input' | 'too-many-uses' | 'too-long', message: string): CodeResult => ({
  type: 'code',
  failure: { code, message },
});
