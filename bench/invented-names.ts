import { seededRandom } from '../src/engines/speech/seeded-random.ts';

const BEGINS = ['b', 'br', 'd', 'f', 'g', 'h', 'k', 'kr', 'l', 'm', 'n', 'p', 'r', 's', 'st', 't', 'tr', 'v', 'w', 'z'];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ai', 'ou', 'ee'];
const ENDS = ['', '', 'n', 'r', 'l', 's', 'm', 'x', 'ck', 'nd'];
const SEED = 40;

/** Names of nobody and nothing, two to four syllables each: what else stands in a long list. */
export function inventedNames(count: number): readonly string[] {
  const random = seededRandom(SEED);
  const one = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? '';
  return Array.from({ length: count }, () => {
    const syllables = Array.from({ length: 2 + Math.floor(random() * 3) }, () => one(BEGINS) + one(VOWELS));
    const name = syllables.join('') + one(ENDS);
    return name.charAt(0).toUpperCase() + name.slice(1);
  });
}
