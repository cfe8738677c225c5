import { findLanguage } from './languages.ts';
import type { Language } from './languages.ts';
import { wordsOf } from './words-of.ts';

/** The language of a text; undefined where that is not clear, and then a prompt names none. */
export type DetectLanguage = (text: string) => Promise<Language | undefined>;

/** Ours: characters of a text's words that are looked at. */
const LOOKED_AT_CHARACTERS_MAX = 2_000;

/** It knows one Norwegian; most is written in this. */
const BOKMAL = 'nb';

/**
 * By the words alone: tags, addresses and code are English to it, or Portuguese. Its data take a third of a second and
 * 24 MB: they are loaded when somebody asks for the first time.
 */
export const detectLanguage: DetectLanguage = async (text) => {
  const { eld } = await import('eld/extrasmall');
  const found = eld.detect(wordsOf(text).slice(0, LOOKED_AT_CHARACTERS_MAX));
  return found.isReliable() ? findLanguage(found.language === 'no' ? BOKMAL : found.language, 'all') : undefined;
};
