/** `impossible`: no text fits. `too-large`: the grammar is beyond a limit, which the message names. */
export class RuleBookError extends RangeError {
  override readonly name = 'RuleBookError';
  readonly reason: 'impossible' | 'too-large';

  constructor(reason: 'impossible' | 'too-large', message: string) {
    super(message);
    this.reason = reason;
  }
}
