/** Position of the highest score. */
export function highest(scores: Float32Array): number {
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

/** Natural logarithm of the sum of all scores' exponentials: a score minus this is its logarithm of probability. */
export function logSum(scores: Float32Array): number {
  let top = -Infinity;
  for (let at = 0; at < scores.length; at++) top = Math.max(top, scores[at] ?? -Infinity);
  let sum = 0;
  for (let at = 0; at < scores.length; at++) sum += Math.exp((scores[at] ?? -Infinity) - top);
  return top + Math.log(sum);
}

/** A position by chance, as likely as its score says at this temperature. @param random From 0 to below 1. */
export function drawn(scores: Float32Array, temperature: number, random: number): number {
  const tempered = scores.map((score) => score / temperature);
  const total = logSum(tempered);
  let rest = random;
  for (let at = 0; at < tempered.length; at++) {
    rest -= Math.exp((tempered[at] ?? -Infinity) - total);
    if (rest < 0) return at;
  }
  return highest(scores);
}
