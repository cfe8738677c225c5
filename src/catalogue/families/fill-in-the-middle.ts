import type { FillInTheMiddle } from './family.ts';

/** Qwen2.5 Coder and later. CodeGemma uses the same tokens with another file separator. */
export const QWEN_FILL: FillInTheMiddle = {
  prefix: '<|fim_prefix|>',
  suffix: '<|fim_suffix|>',
  middle: '<|fim_middle|>',
  stopTokens: [
    '<|endoftext|>',
    '<|im_end|>',
    '<|fim_prefix|>',
    '<|fim_middle|>',
    '<|fim_suffix|>',
    '<|fim_pad|>',
    '<|repo_name|>',
    '<|file_sep|>',
    '<|file_separator|>',
  ],
};

/** Formats of the vocabularies that support it, as documented by their vendors. */
const KNOWN_FORMATS: readonly FillInTheMiddle[] = [
  QWEN_FILL,
  // StarCoder, Stable Code, Granite Code.
  {
    prefix: '<fim_prefix>',
    suffix: '<fim_suffix>',
    middle: '<fim_middle>',
    stopTokens: [
      '<|endoftext|>',
      '<fim_prefix>',
      '<fim_suffix>',
      '<fim_middle>',
      '<fim_pad>',
      '<repo_name>',
      '<reponame>',
      '<file_sep>',
      '<filename>',
    ],
  },
  // DeepSeek Coder: the token of the hole precedes the suffix.
  {
    prefix: '<｜fim▁begin｜>',
    suffix: '<｜fim▁hole｜>',
    middle: '<｜fim▁end｜>',
    stopTokens: ['<｜end▁of▁sentence｜>', '<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'],
  },
  // CodeLlama: SentencePiece writes the space before each token as U+2581.
  {
    prefix: '▁<PRE>',
    suffix: '▁<SUF>',
    middle: '▁<MID>',
    stopTokens: ['▁<EOT>', '▁<PRE>', '▁<SUF>', '▁<MID>'],
  },
  // Codestral: the suffix comes first; the model continues after the prefix.
  { prefix: '[PREFIX]', suffix: '[SUFFIX]', first: 'suffix', stopTokens: ['[PREFIX]', '[SUFFIX]', '[MIDDLE]'] },
];

/**
 * Finds the fill-in-the-middle format of a loaded model.
 *
 * @param familyFormat Format of the model's family. Valid only if the vocabulary has its tokens (Qwen2's has none of
 * them).
 * @param specialTokens Special tokens of the loaded model. Empty when unknown: then the family's format is returned.
 * @returns undefined if the model does not support it.
 */
export function findFillInTheMiddle(
  familyFormat: FillInTheMiddle | undefined,
  specialTokens: readonly string[],
): FillInTheMiddle | undefined {
  if (familyFormat && specialTokens.length === 0) return familyFormat;
  const known = new Set(specialTokens);
  return [...(familyFormat ? [familyFormat] : []), ...KNOWN_FORMATS].find(({ prefix, suffix, middle }) =>
    [prefix, suffix, ...(middle === undefined ? [] : [middle])].every((token) => known.has(token)),
  );
}
