import type { FillInTheMiddle } from './family.ts';

/** Qwen2.5 Coder and later; CodeGemma spells the same and separates files otherwise. */
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

/** Spellings of vocabularies that can fill in the middle, as their makers document them. */
const SPELLINGS: readonly FillInTheMiddle[] = [
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
  // DeepSeek Coder: the hole stands where the suffix begins.
  {
    prefix: '<｜fim▁begin｜>',
    suffix: '<｜fim▁hole｜>',
    middle: '<｜fim▁end｜>',
    stopTokens: ['<｜end▁of▁sentence｜>', '<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'],
  },
  // CodeLlama: SentencePiece spells the blank before each mark as U+2581.
  {
    prefix: '▁<PRE>',
    suffix: '▁<SUF>',
    middle: '▁<MID>',
    stopTokens: ['▁<EOT>', '▁<PRE>', '▁<SUF>', '▁<MID>'],
  },
  // Codestral: the suffix comes first, and the filling right behind the prefix.
  { prefix: '[PREFIX]', suffix: '[SUFFIX]', first: 'suffix', stopTokens: ['[PREFIX]', '[SUFFIX]', '[MIDDLE]'] },
];

/**
 * How a loaded model fills in the middle, if it can.
 *
 * @param own What its family says; right only where the model's vocabulary has these tokens (Qwen2's has none of them).
 * @param specialTokens Of the loaded model. Empty where its server does not tell them: then the family's word counts.
 */
export function fillInTheMiddleOf(
  own: FillInTheMiddle | undefined,
  specialTokens: readonly string[],
): FillInTheMiddle | undefined {
  if (own && specialTokens.length === 0) return own;
  const known = new Set(specialTokens);
  return [...(own ? [own] : []), ...SPELLINGS].find(({ prefix, suffix, middle }) =>
    [prefix, suffix, ...(middle === undefined ? [] : [middle])].every((token) => known.has(token)),
  );
}
