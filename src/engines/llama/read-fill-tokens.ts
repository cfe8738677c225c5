import type { DeclaredFillTokens } from '../../core/fill-in-the-middle.ts';

/** Tokens of fill-in-the-middle prompts that a model file declares, by their ids and texts. */
export interface DeclaredFill {
  readonly ids: readonly number[];
  readonly fillTokens: DeclaredFillTokens;
}

/**
 * Reads the section `tokenizer.ggml` of a model file: `fim_pre_token_id`, `fim_suf_token_id` and `fim_mid_token_id`, in
 * older files `prefix_token_id`, `suffix_token_id` and `middle_token_id` (llama.cpp, gguf-py/gguf/constants.py).
 *
 * @param getText Returns the text of a token.
 * @returns undefined unless all three are declared.
 */
export function readFillTokens(
  section: Readonly<Record<string, unknown>>,
  getText: (token: number) => string,
): DeclaredFill | undefined {
  const readId = (...names: readonly string[]): number | undefined =>
    names.map((name) => section[`${name}_token_id`]).find((value): value is number => typeof value === 'number');
  const prefix = readId('fim_pre', 'prefix');
  const suffix = readId('fim_suf', 'suffix');
  const middle = readId('fim_mid', 'middle');
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined;
  const ends = ['fim_pad', 'fim_rep', 'fim_sep', 'eot'].flatMap((name) => readId(name) ?? []);
  const ids = [prefix, suffix, middle, ...ends];
  return {
    ids,
    fillTokens: {
      prefix: getText(prefix),
      suffix: getText(suffix),
      middle: getText(middle),
      stopTokens: ids.map(getText),
    },
  };
}
