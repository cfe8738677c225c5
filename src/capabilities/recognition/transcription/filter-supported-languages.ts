/**
 * Returns the requested languages that a model supports. Cantonese becomes Chinese if the model does not distinguish
 * them. An empty result means any language.
 */
export const filterSupportedLanguages = (
  requested: readonly string[],
  supported: readonly string[],
): readonly string[] => [
  ...new Set(
    requested
      .map((each) => (each === 'yue' && !supported.includes(each) ? 'zh' : each))
      .filter((each) => supported.includes(each)),
  ),
];
