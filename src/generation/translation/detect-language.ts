import { findLanguage } from './languages.ts';
import type { Language } from './languages.ts';

/** The language of a text; undefined where that is not clear, and then a prompt names none. */
export type DetectLanguage = (text: string) => Promise<Language | undefined>;

/** Ours: characters of a text that are looked at. */
const LOOKED_AT_CHARACTERS_MAX = 2_000;

/** Its data take a third of a second and 24 MB: they are loaded when somebody asks for the first time. */
export const detectLanguage: DetectLanguage = async (text) => {
  const { eld } = await import('eld/extrasmall');
  const found = eld.detect(text.slice(0, LOOKED_AT_CHARACTERS_MAX));
  return found.isReliable() ? findLanguage(found.language, 'all') : undefined;
};
