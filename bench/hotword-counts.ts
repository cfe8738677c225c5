import { heardScore, timesNamed } from './heard-score.ts';

/** What was said, and what was heard of it. */
export interface Heard {
  readonly said: string;
  readonly text: string;
}

/** Names of which at most this part is heard without a vocabulary are what vocabularies are for. */
const HARD_PART_MAX = 0.4;

/** The names of which little was heard. */
export const hardNames = (heard: readonly Heard[], names: readonly string[]): readonly string[] =>
  names.filter((name) => {
    const { said, recalled } = totalOf(heard, [name]);
    return said > 0 && recalled <= HARD_PART_MAX * said;
  });

export const totalOf = (heard: readonly Heard[], names: readonly string[]) =>
  heard
    .map(({ said, text }) => heardScore(said, text, names))
    .reduce((sum, score) => ({
      said: sum.said + score.said,
      recalled: sum.recalled + score.recalled,
      inserted: sum.inserted + score.inserted,
      words: sum.words + score.words,
      wrongWords: sum.wrongWords + score.wrongWords,
    }));

const part = (some: number, all: number): string => `${some}/${all} (${Math.round((100 * some) / all)} %)`;
const rate = (some: number, all: number): string => `${((100 * some) / all).toFixed(1)} %`;

export const COUNTED = ['names', 'of the hard ones', 'false insertions', 'WER', 'WER where no name is said'] as const;

/** Cells under `COUNTED`. */
export function countedCells(
  heard: readonly Heard[],
  { names, hard }: { readonly names: readonly string[]; readonly hard: readonly string[] },
): readonly string[] {
  const [all, ofHard] = [totalOf(heard, names), totalOf(heard, hard)];
  const nameless = heard.filter(({ said }) => names.every((name) => timesNamed(said, name) === 0));
  const rest = nameless.length > 0 ? totalOf(nameless, names) : undefined;
  return [
    part(all.recalled, all.said),
    part(ofHard.recalled, ofHard.said),
    String(all.inserted),
    rate(all.wrongWords, all.words),
    rest ? rate(rest.wrongWords, rest.words) : '',
  ];
}
