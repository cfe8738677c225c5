/** Returns the index of the highest score. */
export function findBestIndex(scores: Float32Array): number {
  let best = 0;
  let top = -Infinity;
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at] ?? -Infinity;
    if (score > top) {
      best = at;
      top = score;
    }
  }
  return best;
}

/** Returns the indexes of the highest scores, highest first; equal scores keep their order. */
export function findBestIndexes(scores: Float32Array, count: number): readonly number[] {
  const best: number[] = [];
  let threshold = -Infinity;
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at] ?? -Infinity;
    if (best.length === count && score <= threshold) continue;
    let place = best.length;
    while (place > 0 && (scores[best[place - 1] ?? 0] ?? -Infinity) < score) place--;
    best.splice(place, 0, at);
    if (best.length > count) best.pop();
    threshold = scores[best.at(-1) ?? 0] ?? -Infinity;
  }
  return best;
}

/** Natural logarithm of the sum of the scores' exponentials: a score minus this value is its log probability. */
export function logSumExp(scores: Float32Array): number {
  let top = -Infinity;
  for (let at = 0; at < scores.length; at++) top = Math.max(top, scores[at] ?? -Infinity);
  let sum = 0;
  for (let at = 0; at < scores.length; at++) sum += Math.exp((scores[at] ?? -Infinity) - top);
  return top + Math.log(sum);
}

/** Samples an index with the probabilities of the scores at a temperature. @param random From 0 to below 1. */
export function sampleIndex(scores: Float32Array, temperature: number, random: number): number {
  const tempered = scores.map((score) => score / temperature);
  const total = logSumExp(tempered);
  let rest = random;
  for (let at = 0; at < tempered.length; at++) {
    rest -= Math.exp((tempered[at] ?? -Infinity) - total);
    if (rest < 0) return at;
  }
  return findBestIndex(scores);
}
