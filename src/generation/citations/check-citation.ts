import { createPassage, type PassageMatch } from './passage.ts';

/** Compares a sentence with a passage. For several sentences and one passage, call `createPassage` once instead. */
export const checkCitation = (sentence: string, passage: string): PassageMatch =>
  createPassage(passage).compareSentence(sentence);
