/** Thrown when a grammar or schema is rejected. `message` is for the caller: field, JSON path, keyword and rule. */
export class GrammarError extends RangeError {
  override readonly name = 'GrammarError';
  /** Path of the schema in the request, for example `tools[0].function.parameters`. */
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}
