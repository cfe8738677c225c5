import { mark } from './marks.ts';
import { splitText } from './split-text.ts';

/** What somebody said in a text: its sentences without protected parts, and nothing of fenced code. */
export const wordsOf = (text: string): string =>
  splitText(text, { locale: 'und', charactersMax: Infinity })
    .filter(({ type }) => type === 'sentence')
    .flatMap((sentence) => mark(sentence.text).parts)
    .flatMap((part) => (part.isProtected ? [] : [part.text]))
    .join(' ');
