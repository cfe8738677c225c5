/** A supported language. */
export interface Language {
  /** English name, used in prompts. */
  readonly name: string;
  readonly code: string;
  /** Its script puts spaces between words. */
  readonly hasSpaces: boolean;
}

/** Set of languages that a model accepts: `lite` is the smallest model's list. */
export type LanguageSet = 'all' | 'lite';

/**
 * Languages of the platform's three larger models, in its order (docs/wire/dashscope-native.md#translation-languages).
 */
const LANGUAGE_TABLE: readonly (readonly [name: string, code: string])[] = [
  ['English', 'en'],
  ['Chinese', 'zh'],
  ['Traditional Chinese', 'zh_tw'],
  ['Russian', 'ru'],
  ['Japanese', 'ja'],
  ['Korean', 'ko'],
  ['Spanish', 'es'],
  ['French', 'fr'],
  ['Portuguese', 'pt'],
  ['German', 'de'],
  ['Italian', 'it'],
  ['Thai', 'th'],
  ['Vietnamese', 'vi'],
  ['Indonesian', 'id'],
  ['Malay', 'ms'],
  ['Arabic', 'ar'],
  ['Hindi', 'hi'],
  ['Hebrew', 'he'],
  ['Burmese', 'my'],
  ['Tamil', 'ta'],
  ['Urdu', 'ur'],
  ['Bengali', 'bn'],
  ['Polish', 'pl'],
  ['Dutch', 'nl'],
  ['Romanian', 'ro'],
  ['Turkish', 'tr'],
  ['Khmer', 'km'],
  ['Lao', 'lo'],
  ['Cantonese', 'yue'],
  ['Czech', 'cs'],
  ['Greek', 'el'],
  ['Swedish', 'sv'],
  ['Hungarian', 'hu'],
  ['Danish', 'da'],
  ['Finnish', 'fi'],
  ['Ukrainian', 'uk'],
  ['Bulgarian', 'bg'],
  ['Serbian', 'sr'],
  ['Telugu', 'te'],
  ['Afrikaans', 'af'],
  ['Armenian', 'hy'],
  ['Assamese', 'as'],
  ['Asturian', 'ast'],
  ['Basque', 'eu'],
  ['Belarusian', 'be'],
  ['Bosnian', 'bs'],
  ['Catalan', 'ca'],
  ['Cebuano', 'ceb'],
  ['Croatian', 'hr'],
  ['Egyptian Arabic', 'arz'],
  ['Estonian', 'et'],
  ['Galician', 'gl'],
  ['Georgian', 'ka'],
  ['Gujarati', 'gu'],
  ['Icelandic', 'is'],
  ['Javanese', 'jv'],
  ['Kannada', 'kn'],
  ['Kazakh', 'kk'],
  ['Latvian', 'lv'],
  ['Lithuanian', 'lt'],
  ['Luxembourgish', 'lb'],
  ['Macedonian', 'mk'],
  ['Maithili', 'mai'],
  ['Maltese', 'mt'],
  ['Marathi', 'mr'],
  ['Mesopotamian Arabic', 'acm'],
  ['Moroccan Arabic', 'ary'],
  ['Najdi Arabic', 'ars'],
  ['Nepali', 'ne'],
  ['North Azerbaijani', 'az'],
  ['North Levantine Arabic', 'apc'],
  ['Northern Uzbek', 'uz'],
  ['Norwegian Bokmal', 'nb'],
  ['Norwegian Nynorsk', 'nn'],
  ['Occitan', 'oc'],
  ['Odia', 'or'],
  ['Pangasinan', 'pag'],
  ['Sicilian', 'scn'],
  ['Sindhi', 'sd'],
  ['Sinhala', 'si'],
  ['Slovak', 'sk'],
  ['Slovenian', 'sl'],
  ['South Levantine Arabic', 'ajp'],
  ['Swahili', 'sw'],
  ['Tagalog', 'tl'],
  ["Ta'izzi-Adeni Arabic", 'acq'],
  ['Tosk Albanian', 'sq'],
  ['Tunisian Arabic', 'aeb'],
  ['Venetian', 'vec'],
  ['Waray', 'war'],
  ['Welsh', 'cy'],
  ['Western Persian', 'fa'],
];

/**
 * Codes of the platform's list for its smallest model, which has its own name for Persian
 * (docs/wire/dashscope-native.md#translation-languages).
 */
const LITE_CODES: ReadonlySet<string> = new Set([
  'en',
  'zh',
  'zh_tw',
  'ru',
  'ja',
  'ko',
  'es',
  'fr',
  'pt',
  'de',
  'it',
  'th',
  'vi',
  'id',
  'ms',
  'ar',
  'hi',
  'he',
  'ur',
  'bn',
  'pl',
  'nl',
  'tr',
  'km',
  'cs',
  'sv',
  'hu',
  'da',
  'fi',
  'tl',
  'fa',
]);

const WITHOUT_SPACES: ReadonlySet<string> = new Set(['zh', 'zh_tw', 'yue', 'ja', 'th', 'lo', 'km', 'my']);

const toLanguage = ([name, code]: readonly [name: string, code: string]): Language => ({
  name,
  code,
  hasSpaces: !WITHOUT_SPACES.has(code),
});

export const LANGUAGES: readonly Language[] = LANGUAGE_TABLE.map(toLanguage);

const LITE_LANGUAGES: readonly Language[] = LANGUAGES.filter(({ code }) => LITE_CODES.has(code)).map((language) =>
  language.code === 'fa' ? { ...language, name: 'Persian' } : language,
);

const getLanguages = (set: LanguageSet): readonly Language[] => (set === 'lite' ? LITE_LANGUAGES : LANGUAGES);

/**
 * Finds a language by its English name, its code or its own name, such as `中文` or `Deutsch`: in any case, and with `-`
 * or `_`. Returns undefined for an unknown language.
 */
export function findLanguage(nameOrCode: string, set: LanguageSet): Language | undefined {
  const wanted = fold(nameOrCode);
  const languages = getLanguages(set);
  return (
    languages.find(({ name, code }) => fold(name) === wanted || fold(code) === wanted) ??
    languages.find(({ code }) => listOwnNames(code).includes(wanted))
  );
}

/** Language tags whose own names mean a language, where they are not just its code. */
const TAGS: Readonly<Record<string, readonly string[]>> = {
  zh: ['zh', 'zh-Hans', 'zh-CN'],
  zh_tw: ['zh-Hant', 'zh-TW', 'zh-HK'],
  pt: ['pt', 'pt-BR'],
};

/** Names that the platform's users write, besides those that Unicode has. */
const MORE_OWN_NAMES: Readonly<Record<string, readonly string[]>> = {
  zh: ['汉语', '普通话', '简体'],
  zh_tw: ['繁体中文', '正體中文', '繁體'],
  yue: ['粤语', '广东话'],
};

/** Returns a language's names in itself, folded; none that Unicode does not know. */
function listOwnNames(code: string): readonly string[] {
  const tags = TAGS[code] ?? [code.replace('_', '-')];
  const names = tags.flatMap(
    (tag) => new Intl.DisplayNames([tag], { type: 'language', fallback: 'none' }).of(tag) ?? [],
  );
  return [...names, ...(MORE_OWN_NAMES[code] ?? [])].map(fold);
}

/** Names that an error message suggests. */
const SUGGESTIONS_MAX = 3;

/** Characters of an unknown name that are compared. The longest name has 24. */
const COMPARED_CHARACTERS_MAX = 40;

/** Suggests names for an unknown language, nearest first: names that contain it, and names within a few letters. */
export function suggestLanguages(unknownName: string, set: LanguageSet): readonly string[] {
  const wanted = fold(unknownName).slice(0, COMPARED_CHARACTERS_MAX);
  if (wanted === '') return [];
  return getLanguages(set)
    .map((language) => ({ name: language.name, distance: computeDistance(wanted, language) }))
    .filter(({ distance }) => distance <= Math.max(1, Math.floor(wanted.length / 3)))
    .toSorted((one, other) => one.distance - other.distance)
    .slice(0, SUGGESTIONS_MAX)
    .map(({ name }) => name);
}

const fold = (text: string): string => text.trim().toLowerCase().replaceAll('-', '_');

function computeDistance(wanted: string, { name, code }: Language): number {
  const folded = fold(name);
  const isPart = wanted.length > 2 && (folded.includes(wanted) || wanted.startsWith(`${fold(code)}_`));
  return isPart ? 0 : editDistance(wanted, folded);
}

/** Levenshtein distance. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++) {
      const change = (row[j] ?? 0) + (one[i] === other[j] ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
