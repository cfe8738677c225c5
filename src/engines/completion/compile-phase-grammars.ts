import { ServiceError } from '../../core/error.ts';
import { RETRY_AFTER_SECONDS } from '../../core/limits.ts';
import type { EngineRequest } from '../engine.ts';
import { WorkerBusyError } from '../fair-worker.ts';
import { compilePhases, GrammarRefusedError, type CompileGrammars, type PhaseGrammars } from '../grammar-compiler.ts';

const COMPILER_BUSY = 'Too many requests wait for their schemas to be compiled, please try again later.';

/**
 * Compiles the grammar of each phase that has one to GBNF.
 * @throws ServiceError `invalid-request` naming the field of an unsupported schema; `overloaded`, `rate-limited`; the
 * signal's reason.
 */
export async function compilePhaseGrammars(
  { phases, owner }: Pick<EngineRequest, 'phases' | 'owner'>,
  { compile, signal }: { readonly compile: CompileGrammars; readonly signal: AbortSignal },
): Promise<PhaseGrammars> {
  try {
    return await compilePhases(phases, compile, { owner, signal });
  } catch (error) {
    if (error instanceof GrammarRefusedError)
      throw new ServiceError('invalid-request', error.message, { param: error.field });
    if (error instanceof WorkerBusyError) {
      const kind = error.reason === 'key-share' ? 'rate-limited' : 'overloaded';
      throw new ServiceError(kind, COMPILER_BUSY, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error });
    }
    throw error;
  }
}
