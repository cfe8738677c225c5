import { markProtected } from './marks.ts';
import { splitText } from './split-text.ts';

/** Extracts the sentences of a text without protected parts and fenced code. */
export const extractProse = (text: string): string =>
  splitText(text, { locale: 'und', charactersMax: Infinity })
    .filter(({ type }) => type === 'sentence')
    .flatMap((sentence) => markProtected(sentence.text).parts)
    .flatMap((part) => (part.isProtected ? [] : [part.text]))
    .join(' ');
