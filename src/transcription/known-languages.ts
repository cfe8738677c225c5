/**
 * What a caller's languages are to a model: those that it knows. Cantonese, which only some have, goes with Chinese. Empty
 * where it knows none of them, which says nothing: it may be any.
 */
export const knownLanguages = (wanted: readonly string[], known: readonly string[]): readonly string[] => [
  ...new Set(
    wanted
      .map((each) => (each === 'yue' && !known.includes(each) ? 'zh' : each))
      .filter((each) => known.includes(each)),
  ),
];
