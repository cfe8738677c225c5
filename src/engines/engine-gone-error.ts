import { ServiceError } from '../core/error.ts';

/** Thrown when the process of an engine has ended. Work that has produced no output may be tried once more. */
export class EngineGoneError extends ServiceError {
  constructor(cause: unknown) {
    super('engine-failed', 'The engine stopped while it worked on this request.', { cause });
  }
}
