import type { PromptLanguage } from './voice-prompts.ts';

/** Names of the numbers from 0 on. */
const NUMBERS: Readonly<Record<PromptLanguage, readonly string[]>> = {
  en: ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'],
  fr: ['zéro', 'un', 'deux', 'trois', 'quatre', 'cinq', 'six', 'sept', 'huit', 'neuf', 'dix'],
};

/** Names of telephone keys. */
const KEYS: Readonly<Record<PromptLanguage, Readonly<Record<string, string>>>> = {
  en: { '#': 'pound', '*': 'star' },
  fr: { '#': 'dièse', '*': 'étoile' },
};

/**
 * Writes small numbers as digits and keys as words, because "press one" and "press 1" sound the same. Applied to
 * references and transcripts alike; the French article "un" becomes a digit in both.
 */
export const writeNumbersAsDigits = (text: string, language: PromptLanguage): string =>
  text
    .replace(/[#*]/g, (key) => ` ${KEYS[language][key] ?? ''} `)
    .replace(/\p{L}+/gu, (word) => {
      const number = NUMBERS[language].indexOf(word.toLowerCase());
      return number < 0 ? word : String(number);
    });
