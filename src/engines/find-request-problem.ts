/** The parts of a request that depend on the model's vocabulary and slots. */
interface CheckedFields {
  readonly choices: number;
  readonly biasedTokens: readonly number[];
  readonly stop: { readonly tokens: readonly (readonly number[])[] };
}

export interface VocabularyBounds {
  readonly choicesMax: number;
  readonly vocabularySize: number;
}

/** Finds the first field with more choices than the model has slots, or with a token that it does not have. */
export function findRequestProblem(
  { choices, biasedTokens, stop }: CheckedFields,
  { choicesMax, vocabularySize }: VocabularyBounds,
): { readonly message: string; readonly param: string } | undefined {
  if (choices > choicesMax)
    return { message: `n must be at most ${choicesMax} for this model, got ${choices}`, param: 'n' };
  for (const [param, tokens] of [
    ['logit_bias', biasedTokens],
    ['stop', stop.tokens.flat()],
  ] as const) {
    const token = tokens.find((each) => each >= vocabularySize);
    if (token !== undefined)
      return { message: `${param} names token ${token}, but token ids must be below ${vocabularySize}`, param };
  }
  return undefined;
}

/** Describes the first token of a prompt that the model does not have. */
export function findTokenProblem(tokens: readonly number[], vocabularySize: number): string | undefined {
  const invalid = tokens.find((token) => !Number.isInteger(token) || token < 0 || token >= vocabularySize);
  return invalid === undefined
    ? undefined
    : `prompt must have token ids from 0 to ${vocabularySize - 1}, got ${invalid}`;
}
