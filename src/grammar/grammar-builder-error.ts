import type { RuleRef } from './rule-body.ts';

/**
 * Thrown when a grammar exceeds the limit that the message names, or, with `impossible`, when a rule matches no text.
 */
export class GrammarBuilderError extends RangeError {
  override readonly name = 'RuleBookError';
  readonly impossible: RuleRef | undefined;

  constructor(message: string, impossible?: RuleRef) {
    super(message);
    this.impossible = impossible;
  }
}
