import { findLanguage, type Language } from './languages.ts';
import { extractProse } from './extract-prose.ts';

/**
 * Detects the language of a text. Resolves with undefined when the result is unreliable; the prompt then names no
 * source language.
 */
export type DetectLanguage = (text: string) => Promise<Language | undefined>;

/** Characters of the text's words that are examined. */
const SAMPLE_CHARACTERS_MAX = 2_000;

/** The detector has one Norwegian; Bokmål is the more common written form. */
const BOKMAL = 'nb';

/**
 * Examines words only, because tags, URLs and code look like English or Portuguese to the detector. Its data takes a
 * third of a second to load and 24 MB of memory, so it is loaded on first use.
 */
export const detectLanguage: DetectLanguage = async (text) => {
  const { eld } = await import('eld/extrasmall');
  const detection = eld.detect(extractProse(text).slice(0, SAMPLE_CHARACTERS_MAX));
  return detection.isReliable()
    ? findLanguage(detection.language === 'no' ? BOKMAL : detection.language, 'all')
    : undefined;
};
