/** Side-by-side measurement: A and B in turn in one run, because these machines drift and have neighbours. */

export interface Pairs {
  readonly a: readonly number[];
  readonly b: readonly number[];
}

export interface Ratio {
  readonly median: number;
  /** 95 % interval of the median, by resampling the pairs. */
  readonly low: number;
  readonly high: number;
}

/** Runs A B, B A, A B, …; each result is a figure of the same kind. */
export async function alternate(
  rounds: number,
  a: () => Promise<number>,
  b: () => Promise<number>,
  note: (text: string) => void,
): Promise<Pairs> {
  const [ofA, ofB] = await inTurn(rounds, [a, b], note);
  return { a: ofA ?? [], b: ofB ?? [] };
}

/** Runs all sides once a round, forwards and backwards by turns; the results lie as the sides do. */
export async function inTurn<Result>(
  rounds: number,
  sides: readonly (() => Promise<Result>)[],
  note: (text: string) => void,
): Promise<readonly (readonly Result[])[]> {
  const results = sides.map((): Result[] => []);
  for (let round = 0; round < rounds; round++) {
    note(`round ${round + 1} of ${rounds}`);
    const order = round % 2 === 0 ? [...sides.keys()] : [...sides.keys()].toReversed();
    for (const at of order) {
      const side = sides[at];
      if (side) results[at]?.push(await side());
    }
  }
  return results;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((x, y) => x - y);
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)] ?? NaN;
  const high = sorted[Math.ceil(at)] ?? NaN;
  return low + (high - low) * (at - Math.floor(at));
}

/** Median of A/B pair by pair. */
export function ratioOf({ a, b }: Pairs): Ratio {
  const ratios = a.map((value, i) => value / (b[i] ?? NaN));
  const resampled = Array.from({ length: 2000 }, () =>
    median(ratios.map(() => ratios[Math.floor(Math.random() * ratios.length)] ?? NaN)),
  );
  return { median: median(ratios), low: quantile(resampled, 0.025), high: quantile(resampled, 0.975) };
}
