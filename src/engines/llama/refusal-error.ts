import type { EngineRefusal } from './protocol.ts';

/** Thrown by work for a request that is rejected; carries the body of the error response. */
export class RefusalError extends Error {
  readonly refusal: EngineRefusal;

  constructor(refusal: EngineRefusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}
