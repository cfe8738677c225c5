import type { Hotword } from '../../core/speech.ts';

export interface HotwordOccurrence {
  readonly hotwordIndex: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Finds the hotwords in a text, ignoring case, in order; of those that start at the same position, only the longest.
 */
export function findHotwords(text: string, hotwords: readonly Hotword[]): readonly HotwordOccurrence[] {
  const found: HotwordOccurrence[] = [];
  const lowered = text.toLowerCase();
  for (const [word, hotword] of hotwords.entries()) {
    const lowercase = hotword.text.toLowerCase();
    if (lowercase === '') continue;
    for (let from = lowered.indexOf(lowercase); from >= 0; from = lowered.indexOf(lowercase, from + lowercase.length))
      found.push({ hotwordIndex: word, from, to: from + lowercase.length });
  }
  found.sort((a, b) => a.from - b.from || b.to - a.to);
  let end = 0;
  return found.filter(({ from, to }) => {
    if (from < end) return false;
    end = to;
    return true;
  });
}
