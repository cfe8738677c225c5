import type { Hotword } from '../../core/speech.ts';
import { FARTHEST, FARTHER_PER_WEIGHT, NEAR_HOTWORDS_MAX } from './bias-scale.ts';
import { isUnspaced } from './scripts.ts';
import { spokenSounds } from './spoken-sounds.ts';

/** What a change of sounds costs; one that is put in or left out costs 1, a vowel half of that. */
const VOWEL_CHANGE_COST = 0.25;
const ALIKE_CHANGE_COST = 0.4;
const VOWEL_COST = 0.5;

/** A hotword that ends in the middle of a heard word. */
const CUT_WORD_COST = 0.5;

/** Sounds that are taken for each other. The first ones are the vowels. */
const ALIKE = ['aeiou', 'bpfv', 'dt', 'gk', 'szS', 'lr', 'mn'];
const KINDS = new Map(ALIKE.flatMap((sounds, kind) => Array.from(sounds, (sound) => [sound, kind] as const)));

const isVowel = (sound: string): boolean => KINDS.get(sound) === 0;

const costOf = (sound: string): number => (isVowel(sound) ? VOWEL_COST : 1);

/**
 * The hotwords that a plain reading may have misheard, nearest first: those that sound like something in it. Heavier ones may
 * be farther away. Scripts that show no sounds tell nothing; where the hotword or the text has one, it is near.
 */
export function nearHotwords(text: string, hotwords: readonly Hotword[]): readonly Hotword[] {
  if (Array.from(text).some(isUnspaced)) return hotwords;
  const heard = spokenSounds(text);
  return hotwords
    .map((hotword) => ({
      hotword,
      distance: isUnspaced(hotword.text) ? 0 : distanceOf(spokenSounds(hotword.text), heard),
    }))
    .filter(({ hotword, distance }) => distance <= FARTHEST + FARTHER_PER_WEIGHT * hotword.weight)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, NEAR_HOTWORDS_MAX)
    .map(({ hotword }) => hotword);
}

/**
 * How far what is wanted is from what sounds most like it in the words that were heard: 0 where it stands there, 1 where
 * nothing of it does. It begins where a word does.
 */
function distanceOf(wanted: readonly string[], heard: readonly string[]): number {
  const sounds = Array.from(wanted.join(''));
  const all = Array.from(heard.join(''));
  const allCosts = all.map(costOf);
  const allKinds = all.map((sound) => KINDS.get(sound));
  const borders = new Set([0]);
  let end = 0;
  for (const word of heard) borders.add((end += Array.from(word).length));
  // Places are visited so often that the rows are kept and turned over.
  let row = Float64Array.from({ length: all.length + 1 }, (_, place) => (borders.has(place) ? 0 : Infinity));
  let next = new Float64Array(row.length);
  for (const sound of sounds) {
    const cost = costOf(sound);
    const kind = KINDS.get(sound);
    const alikeCost = isVowel(sound) ? VOWEL_CHANGE_COST : ALIKE_CHANGE_COST;
    let left = (row[0] ?? Infinity) + cost;
    next[0] = left;
    for (let place = 0; place < all.length; place++) {
      const isAlike = kind !== undefined && kind === allKinds[place];
      const change = all[place] === sound ? 0 : isAlike ? alikeCost : 1;
      left = Math.min(
        (row[place] ?? Infinity) + change,
        (row[place + 1] ?? Infinity) + cost,
        left + (allCosts[place] ?? 1),
      );
      next[place + 1] = left;
    }
    [row, next] = [next, row];
  }
  const least = row.reduce(
    (found, cost, place) => Math.min(found, cost + (borders.has(place) ? 0 : CUT_WORD_COST)),
    Infinity,
  );
  return least / sounds.reduce((sum, sound) => sum + costOf(sound), 0);
}
