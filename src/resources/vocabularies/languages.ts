/** Specification, E7: the languages of the two families of recognition models. */
const FAMILY_ONE = ['zh', 'en', 'ja', 'yue', 'ko', 'de', 'fr', 'ru'] as const;
const FAMILY_TWO = ['zh', 'en', 'ja'] as const;

/** Languages that an entry for this model may have. decisions.md: judged by the name as it is written, not by what it leads to. */
export const languagesOf = (targetModel: string): readonly string[] =>
  targetModel.startsWith('fun-asr') ? FAMILY_TWO : FAMILY_ONE;

/** ISO 639-1 of such a code: Cantonese has none of its own there, and goes with Chinese. */
export const isoOf = (lang: string): string => (lang === 'yue' ? 'zh' : lang);
