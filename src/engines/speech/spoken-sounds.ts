/** Letters in a row that say one sound in many of the languages that are written with them, one rule after the other. */
const SOUNDS: readonly (readonly [letters: RegExp, sound: string])[] = [
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

/** The words of a text by about what is heard of them, a letter for each sound. */
export const spokenSounds = (text: string): readonly string[] =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map((word) => SOUNDS.reduce((sounds, [letters, sound]) => sounds.replace(letters, sound), word));
