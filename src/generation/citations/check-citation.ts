import { createPassage } from './passage.ts';
import type { Verdict } from './passage.ts';

/** Whether a passage bears out a sentence. Of several sentences and one passage, take it apart once with `createPassage`. */
export const checkCitation = (sentence: string, passage: string): Verdict => createPassage(passage).check(sentence);
