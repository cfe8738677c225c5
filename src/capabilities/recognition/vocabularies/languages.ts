/** Languages of the two families of recognition models (docs/wire/dashscope-native.md#vocabularies). */
const DEFAULT_LANGUAGES = ['zh', 'en', 'ja', 'yue', 'ko', 'de', 'fr', 'ru'] as const;
const FUN_ASR_LANGUAGES = ['zh', 'en', 'ja'] as const;

/**
 * Returns the languages that an entry for this model may have. The name decides as the client wrote it, without
 * resolving aliases.
 */
export const getSupportedLanguages = (targetModel: string): readonly string[] =>
  targetModel.startsWith('fun-asr') ? FUN_ASR_LANGUAGES : DEFAULT_LANGUAGES;

/** Returns the ISO 639-1 code; Cantonese has none and is treated as Chinese. */
export const toIso639 = (lang: string): string => (lang === 'yue' ? 'zh' : lang);
