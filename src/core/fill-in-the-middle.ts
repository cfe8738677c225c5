/**
 * Texts of the special tokens that precede each part of a fill-in-the-middle prompt. The model continues after the
 * last.
 */
export interface FillInTheMiddle {
  readonly prefix: string;
  readonly suffix: string;
  /** Ends the prompt. Absent if the order of the parts suffices. */
  readonly middle?: string;
  /** The part that comes first. Default: the prefix. */
  readonly first?: 'suffix';
  /** Special tokens that end a completion: next file, next gap, end of text. */
  readonly stopTokens: readonly string[];
}

/** Texts of the tokens that a model file declares for fill-in-the-middle prompts. */
export type DeclaredFillTokens = Required<Pick<FillInTheMiddle, 'prefix' | 'suffix' | 'middle' | 'stopTokens'>>;

/** Qwen2.5 Coder and later, CodeGemma, Granite 4, Phi-4. They differ in the tokens of files. */
export const QWEN_FILL: FillInTheMiddle = {
  prefix: '<|fim_prefix|>',
  suffix: '<|fim_suffix|>',
  middle: '<|fim_middle|>',
  stopTokens: [
    '<|endoftext|>',
    '<|end_of_text|>',
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

/** Formats by the tokens of a vocabulary. Sources: docs/protocols/completions.md#fill-in-the-middle-formats. */
export const FILL_FORMATS: readonly FillInTheMiddle[] = [
  QWEN_FILL,
  // StarCoder, Stable Code, Granite Code, CodeShell, Yi Coder, Refact.
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
  // SantaCoder.
  {
    prefix: '<fim-prefix>',
    suffix: '<fim-suffix>',
    middle: '<fim-middle>',
    stopTokens: ['<|endoftext|>', '<fim-prefix>', '<fim-suffix>', '<fim-middle>', '<fim-pad>'],
  },
  // DeepSeek Coder, V2 and V3: the token of the hole precedes the suffix.
  {
    prefix: '<｜fim▁begin｜>',
    suffix: '<｜fim▁hole｜>',
    middle: '<｜fim▁end｜>',
    stopTokens: ['<｜end▁of▁sentence｜>', '<|EOT|>', '<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>'],
  },
  // CodeLlama: SentencePiece writes the blank before each token as U+2581.
  {
    prefix: '▁<PRE>',
    suffix: '▁<SUF>',
    middle: '▁<MID>',
    stopTokens: ['▁<EOT>', '▁<PRE>', '▁<SUF>', '▁<MID>'],
  },
  { prefix: '<PRE>', suffix: '<SUF>', middle: '<MID>', stopTokens: ['<EOT>', '<PRE>', '<SUF>', '<MID>'] },
  // Codestral: the suffix comes first; the model continues after the prefix.
  { prefix: '[PREFIX]', suffix: '[SUFFIX]', first: 'suffix', stopTokens: ['[PREFIX]', '[SUFFIX]', '[MIDDLE]'] },
  // CodeGeeX4 and GLM-4.5.
  {
    prefix: '<|code_prefix|>',
    suffix: '<|code_suffix|>',
    middle: '<|code_middle|>',
    first: 'suffix',
    stopTokens: [
      '<|endoftext|>',
      '<|user|>',
      '<|observation|>',
      '<|code_prefix|>',
      '<|code_suffix|>',
      '<|code_middle|>',
    ],
  },
  // Seed Coder.
  {
    prefix: '<[fim-prefix]>',
    suffix: '<[fim-suffix]>',
    middle: '<[fim-middle]>',
    first: 'suffix',
    stopTokens: ['<[end▁of▁sentence]>', '<[fim-prefix]>', '<[fim-suffix]>', '<[fim-middle]>', '<filename>'],
  },
  // Falcon.
  {
    prefix: '>>PREFIX<<',
    suffix: '>>SUFFIX<<',
    middle: '>>MIDDLE<<',
    stopTokens: ['<|endoftext|>', '>>PREFIX<<', '>>SUFFIX<<', '>>MIDDLE<<'],
  },
  // Falcon-H1 Coder.
  {
    prefix: '<|prefix|>',
    suffix: '<|suffix|>',
    middle: '<|middle|>',
    stopTokens: ['<|end_of_text|>', '<|prefix|>', '<|suffix|>', '<|middle|>'],
  },
  // LFM2.
  {
    prefix: '<|fim_pre|>',
    suffix: '<|fim_suf|>',
    middle: '<|fim_mid|>',
    stopTokens: ['<|endoftext|>', '<|im_end|>', '<|fim_pre|>', '<|fim_suf|>', '<|fim_mid|>'],
  },
];

export interface FillVocabulary {
  /** Empty when unknown. */
  readonly specialTokens: readonly string[];
  readonly fillTokens?: DeclaredFillTokens;
}

/**
 * Finds the fill-in-the-middle format of a loaded model: by the tokens that its file declares, else by those of its
 * family, else by the names in its vocabulary. Declared tokens of an unknown name stand in the most common order.
 *
 * @param familyFormat Format of the model's family. Valid only if the vocabulary has its tokens (Qwen2's has none of
 *   them), or is unknown.
 * @returns undefined if the model does not support it.
 */
export function findFillInTheMiddle(
  familyFormat: FillInTheMiddle | undefined,
  { specialTokens, fillTokens }: FillVocabulary,
): FillInTheMiddle | undefined {
  if (familyFormat && specialTokens.length === 0) return familyFormat;
  const formats = [...(familyFormat ? [familyFormat] : []), ...FILL_FORMATS];
  if (fillTokens)
    return (
      formats.find(({ prefix, suffix }) => prefix === fillTokens.prefix && suffix === fillTokens.suffix) ?? fillTokens
    );
  const known = new Set(specialTokens);
  return formats.find((format) => getPartTokens(format).every((token) => known.has(token)));
}

/** Returns the tokens without which a vocabulary does not support the format. */
export const getPartTokens = ({ prefix, suffix, middle }: FillInTheMiddle): readonly string[] =>
  middle === undefined ? [prefix, suffix] : [prefix, suffix, middle];
