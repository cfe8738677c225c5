/** Counts from comparing a reference text with the transcript of its recording. */
export interface RecognitionScore {
  /** Names in the reference. */
  readonly spokenNames: number;
  /** Names of the reference that are also in the transcript. */
  readonly recognizedNames: number;
  /** Names that are in the transcript more often than in the reference. */
  readonly insertedNames: number;
  readonly words: number;
  /** Word edit distance between reference and transcript. */
  readonly wrongWords: number;
}

/** Splits a text into words in lower case without punctuation and accents, because spelling is not audible. */
export const splitWords = (text: string): readonly string[] =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

/** Counts how often a name occurs in a text as whole words. */
export function countName(text: string, name: string): number {
  return ` ${splitWords(text).join('  ')} `.split(` ${splitWords(name).join('  ')} `).length - 1;
}

export function scoreRecognition(reference: string, transcript: string, names: readonly string[]): RecognitionScore {
  const counts = names.map((name) => ({
    inReference: countName(reference, name),
    inTranscript: countName(transcript, name),
  }));
  const sumCounts = (
    select: (count: { readonly inReference: number; readonly inTranscript: number }) => number,
  ): number => counts.reduce((sum, count) => sum + select(count), 0);
  return {
    spokenNames: sumCounts((count) => count.inReference),
    recognizedNames: sumCounts((count) => Math.min(count.inReference, count.inTranscript)),
    insertedNames: sumCounts((count) => Math.max(0, count.inTranscript - count.inReference)),
    words: splitWords(reference).length,
    wrongWords: computeWordDistance(splitWords(reference), splitWords(transcript)),
  };
}

/** Returns the Levenshtein distance in words: insertions, deletions and substitutions. */
function computeWordDistance(from: readonly string[], to: readonly string[]): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [at, word] of from.entries()) {
    const next = [at + 1];
    for (const [column, other] of to.entries())
      next.push(
        Math.min((row[column] ?? 0) + (word === other ? 0 : 1), (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1),
      );
    row = next;
  }
  return row[to.length] ?? 0;
}
