import type { Hotword } from '../../core/speech.ts';
import { SOUND_DISTANCE_MAX, SOUND_DISTANCE_PER_WEIGHT, SIMILAR_HOTWORDS_MAX } from './hotword-bias-constants.ts';
import { startsInUnspacedScript } from './split-words.ts';
import { textToSounds } from './text-to-sounds.ts';

/** Costs of an edit between sound sequences. Inserting or removing a consonant costs 1, a vowel `VOWEL_COST`. */
const VOWEL_CHANGE_COST = 0.25;
const SIMILAR_CHANGE_COST = 0.4;
const VOWEL_COST = 0.5;

/** Extra cost if the hotword ends in the middle of a recognized word. */
const CUT_WORD_COST = 0.5;

/** Groups of sounds that are easily confused. The first group are the vowels. `S` stands for sh and ch. */
const SIMILAR_SOUNDS = ['aeiou', 'bpfv', 'dt', 'gk', 'szS', 'lr', 'mn'];
const SOUND_CLASSES = new Map(
  SIMILAR_SOUNDS.flatMap((sounds, kind) => Array.from(sounds, (sound) => [sound, kind] as const)),
);

const isVowel = (sound: string): boolean => SOUND_CLASSES.get(sound) === 0;

const getSoundCost = (sound: string): number => (isVowel(sound) ? VOWEL_COST : 1);

/**
 * Finds the hotwords that speech recognition without hotwords may have missed because they sound like a part of its
 * result, closest first. The higher a hotword's weight, the less similar it may sound.
 *
 * Sounds are derived from spelling, which does not work for scripts without spaces, such as Chinese. Hotwords in such a
 * script, and all hotwords for a text that contains such a script, therefore count as similar.
 */
export function findSimilarHotwords(text: string, hotwords: readonly Hotword[]): readonly Hotword[] {
  if (Array.from(text).some(startsInUnspacedScript)) return hotwords;
  const textSounds = textToSounds(text);
  return hotwords
    .map((hotword) => ({
      hotword,
      distance: startsInUnspacedScript(hotword.text) ? 0 : computeSoundDistance(textToSounds(hotword.text), textSounds),
    }))
    .filter(({ hotword, distance }) => distance <= SOUND_DISTANCE_MAX + SOUND_DISTANCE_PER_WEIGHT * hotword.weight)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, SIMILAR_HOTWORDS_MAX)
    .map(({ hotword }) => hotword);
}

/**
 * Returns the distance between a hotword and the most similar part of the text that starts at a word border: 0 if the
 * text contains the hotword, 1 if nothing is similar.
 */
export function computeSoundDistance(hotwordWords: readonly string[], textWords: readonly string[]): number {
  const sounds = Array.from(hotwordWords.join(''));
  const all = Array.from(textWords.join(''));
  const allCosts = all.map(getSoundCost);
  const allClasses = all.map((sound) => SOUND_CLASSES.get(sound));
  const wordBorders = new Set([0]);
  let end = 0;
  for (const word of textWords) wordBorders.add((end += Array.from(word).length));
  // The rows are reused because this loop dominates the run time.
  let row = Float64Array.from({ length: all.length + 1 }, (_, position) => (wordBorders.has(position) ? 0 : Infinity));
  let next = new Float64Array(row.length);
  for (const sound of sounds) {
    const cost = getSoundCost(sound);
    const soundClass = SOUND_CLASSES.get(sound);
    const similarCost = isVowel(sound) ? VOWEL_CHANGE_COST : SIMILAR_CHANGE_COST;
    let left = (row[0] ?? Infinity) + cost;
    next[0] = left;
    for (let position = 0; position < all.length; position++) {
      const isSimilar = soundClass !== undefined && soundClass === allClasses[position];
      const change = all[position] === sound ? 0 : isSimilar ? similarCost : 1;
      left = Math.min(
        (row[position] ?? Infinity) + change,
        (row[position + 1] ?? Infinity) + cost,
        left + (allCosts[position] ?? 1),
      );
      next[position + 1] = left;
    }
    [row, next] = [next, row];
  }
  const cheapest = row.reduce(
    (found, cost, position) => Math.min(found, cost + (wordBorders.has(position) ? 0 : CUT_WORD_COST)),
    Infinity,
  );
  return cheapest / sounds.reduce((sum, sound) => sum + getSoundCost(sound), 0);
}
