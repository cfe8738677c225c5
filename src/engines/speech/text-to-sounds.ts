/** Spelling rules, applied in order: letter groups that stand for one sound in many languages. */
const SOUND_RULES: readonly (readonly [letters: RegExp, sound: string])[] = [
  [/sch|sh|cz|sz|ch|zh/g, 'S'],
  [/ph/g, 'f'],
  [/th/g, 't'],
  [/gh/g, 'g'],
  [/ck|qu?/g, 'k'],
  [/x/g, 'ks'],
  [/c(?=[eiy])/g, 's'],
  [/c/g, 'k'],
  [/w/g, 'v'],
  [/[yj]/g, 'i'],
  [/ou|oo/g, 'u'],
  [/ee|ea|ie|ei/g, 'i'],
  [/h/g, ''],
  [/(.)\1+/g, '$1'],
];

/** Converts the words of a text to approximate sounds, one letter per sound. */
export const textToSounds = (text: string): readonly string[] =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map((word) => SOUND_RULES.reduce((sounds, [letters, sound]) => sounds.replace(letters, sound), word));
