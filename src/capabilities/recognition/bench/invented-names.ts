import { createSeededRandom } from '../../../lib/seeded-random.ts';

const ONSETS = ['b', 'br', 'd', 'f', 'g', 'h', 'k', 'kr', 'l', 'm', 'n', 'p', 'r', 's', 'st', 't', 'tr', 'v', 'w', 'z'];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ai', 'ou', 'ee'];
const CODAS = ['', '', 'n', 'r', 'l', 's', 'm', 'x', 'ck', 'nd'];
const SEED = 40;

/** Creates names of two to four syllables that fill up a long vocabulary. The seed is fixed. */
export function createInventedNames(count: number): readonly string[] {
  const random = createSeededRandom(SEED);
  const pickOne = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? '';
  return Array.from({ length: count }, () => {
    const syllables = Array.from({ length: 2 + Math.floor(random() * 3) }, () => pickOne(ONSETS) + pickOne(VOWELS));
    const name = syllables.join('') + pickOne(CODAS);
    return name.charAt(0).toUpperCase() + name.slice(1);
  });
}
