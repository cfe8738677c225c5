export interface GrammarErrorOptions {
  readonly isGrammarLimit?: boolean;
}

/** Thrown when a grammar or schema is rejected. `message` is for the caller: field, JSON path, keyword and rule. */
export class GrammarError extends RangeError {
  override readonly name = 'GrammarError';
  /** Path of the schema in the request, for example `tools[0].function.parameters`. */
  readonly field: string;
  /** Whether only the grammar exceeds a limit: one that holds less of the schema may not. */
  readonly isGrammarLimit: boolean;

  constructor(field: string, message: string, { isGrammarLimit = false }: GrammarErrorOptions = {}) {
    super(message);
    this.field = field;
    this.isGrammarLimit = isGrammarLimit;
  }
}
