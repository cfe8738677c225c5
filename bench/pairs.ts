/** Results of side-by-side rounds: A and B run alternately, because the speed of these machines drifts. */
export interface Pairs {
  readonly a: readonly number[];
  readonly b: readonly number[];
}

/** Runs A B, B A, A B, …; both sides return the same kind of figure. */
export async function runAlternately(
  rounds: number,
  a: () => Promise<number>,
  b: () => Promise<number>,
  logProgress: (text: string) => void,
): Promise<Pairs> {
  const [resultsOfA, resultsOfB] = await runInterleaved(rounds, [a, b], logProgress);
  return { a: resultsOfA ?? [], b: resultsOfB ?? [] };
}

/** Runs all sides once per round, in alternating order. The results have the order of the sides. */
export async function runInterleaved<Result>(
  rounds: number,
  sides: readonly (() => Promise<Result>)[],
  logProgress: (text: string) => void,
): Promise<readonly (readonly Result[])[]> {
  const results = sides.map((): Result[] => []);
  for (let round = 0; round < rounds; round++) {
    logProgress(`round ${round + 1} of ${rounds}`);
    const order = round % 2 === 0 ? [...sides.keys()] : [...sides.keys()].toReversed();
    for (const index of order) {
      const side = sides[index];
      if (side) results[index]?.push(await side());
    }
  }
  return results;
}

export const median = (values: readonly number[]): number => computeQuantile(values, 0.5);

export function computeQuantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((x, y) => x - y);
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)] ?? NaN;
  const high = sorted[Math.ceil(at)] ?? NaN;
  return low + (high - low) * (at - Math.floor(at));
}

/** Returns the median of A/B, pair by pair, with its 95 % interval, by resampling the pairs. */
export function computeRatio({ a, b }: Pairs): readonly [median: number, low: number, high: number] {
  const ratios = a.map((value, i) => value / (b[i] ?? NaN));
  const resampled = Array.from({ length: 2000 }, () =>
    median(ratios.map(() => ratios[Math.floor(Math.random() * ratios.length)] ?? NaN)),
  );
  return [median(ratios), computeQuantile(resampled, 0.025), computeQuantile(resampled, 0.975)];
}
