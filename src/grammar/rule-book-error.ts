import type { RuleRef } from './rule-body.ts';

/** A grammar beyond a limit, which the message names; or, with `impossible`, a rule that can never be finished. */
export class RuleBookError extends RangeError {
  override readonly name = 'RuleBookError';
  readonly impossible: RuleRef | undefined;

  constructor(message: string, impossible?: RuleRef) {
    super(message);
    this.impossible = impossible;
  }
}
