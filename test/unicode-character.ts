import fc from 'fast-check';

const [SURROGATES_START, SURROGATES_COUNT, CHARACTERS_END] = [0xd800, 0x800, 0x11_0000];

/** Any character except half surrogates, as a unit of `fc.string`. The unit `binary` takes a second to create. */
export const unicodeCharacter = fc
  .nat({ max: CHARACTERS_END - SURROGATES_COUNT - 1 })
  .map((number) => String.fromCodePoint(number < SURROGATES_START ? number : number + SURROGATES_COUNT));
