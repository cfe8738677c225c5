/** A grammar or schema that is refused. `message` is for the caller: JSON path, keyword and rule. */
export class GrammarError extends RangeError {
  override readonly name = 'GrammarError';
  /** Where the schema stands in the request, e.g. `tools[0].function.parameters`. */
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}
