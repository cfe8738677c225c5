import { scoreRecognition, countName } from './recognition-score.ts';

/** A reference text and the transcript of its recording. */
export interface RecognitionSample {
  readonly reference: string;
  readonly transcript: string;
}

/** Highest share of recognitions without a vocabulary at which a name counts as hard. */
const HARD_NAME_RECALL_MAX = 0.4;

/** Finds the names that are rarely recognized without a vocabulary. */
export const findHardNames = (samples: readonly RecognitionSample[], names: readonly string[]): readonly string[] =>
  names.filter((name) => {
    const { spokenNames, recognizedNames } = sumScores(samples, [name]);
    return spokenNames > 0 && recognizedNames <= HARD_NAME_RECALL_MAX * spokenNames;
  });

const sumScores = (samples: readonly RecognitionSample[], names: readonly string[]) =>
  samples
    .map(({ reference, transcript }) => scoreRecognition(reference, transcript, names))
    .reduce((sum, score) => ({
      spokenNames: sum.spokenNames + score.spokenNames,
      recognizedNames: sum.recognizedNames + score.recognizedNames,
      insertedNames: sum.insertedNames + score.insertedNames,
      words: sum.words + score.words,
      wrongWords: sum.wrongWords + score.wrongWords,
    }));

const formatShare = (some: number, all: number): string => `${some}/${all} (${Math.round((100 * some) / all)} %)`;
const formatRate = (some: number, all: number): string => `${((100 * some) / all).toFixed(1)} %`;

export const SCORE_COLUMNS = ['names', 'hard names', 'false insertions', 'WER', 'WER without names'] as const;

/** Formats the scores as cells of the columns `SCORE_COLUMNS`. */
export function formatScoreCells(
  samples: readonly RecognitionSample[],
  { names, hardNames }: { readonly names: readonly string[]; readonly hardNames: readonly string[] },
): readonly string[] {
  const [totalScore, hardScore] = [sumScores(samples, names), sumScores(samples, hardNames)];
  const namelessSamples = samples.filter(({ reference }) => names.every((name) => countName(reference, name) === 0));
  const namelessScore = namelessSamples.length > 0 ? sumScores(namelessSamples, names) : undefined;
  return [
    formatShare(totalScore.recognizedNames, totalScore.spokenNames),
    formatShare(hardScore.recognizedNames, hardScore.spokenNames),
    String(totalScore.insertedNames),
    formatRate(totalScore.wrongWords, totalScore.words),
    namelessScore ? formatRate(namelessScore.wrongWords, namelessScore.words) : '',
  ];
}
