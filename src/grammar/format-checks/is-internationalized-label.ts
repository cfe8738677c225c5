import { JOINS_NEXT, JOINS_PREVIOUS, VIRAMA } from './joining-types.ts';

/**
 * Tells whether a label with characters outside ASCII is a U-label: RFC 5891, sections 4.2.2 and 4.2.3, with the
 * characters of RFC 5892 and the rule for right-to-left labels of RFC 5893. Does not check its length.
 */
export function isInternationalizedLabel(label: string): boolean {
  return (
    label.isWellFormed() &&
    label === label.normalize('NFC') &&
    !/^-|-$|^..--/u.test(label) &&
    !/^\p{M}/u.test(label) &&
    [...label].every((character) => isAllowedCharacter(character, label)) &&
    areJoinersAllowed(label) &&
    !/[\u0660-\u0669].*[\u06F0-\u06F9]|[\u06F0-\u06F9].*[\u0660-\u0669]/u.test(label) &&
    isDirectionAllowed(label)
  );
}

/** RFC 5892, section 2.6, and the rules of appendix A that look at the label. */
const isAllowedCharacter = (character: string, label: string): boolean =>
  CONTEXT_RULES.get(character)?.test(label) ??
  (ALWAYS_ALLOWED.test(character) || (DERIVED.test(character) && !DISALLOWED.test(character)));

const ALWAYS_ALLOWED = /^[a-z0-9\-\u00DF\u03C2\u06FD\u06FE\u0F0B\u3007\u200C\u200D]$/u;
/** LetterDigits (section 2.1). */
const DERIVED = /^[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}]$/u;
/** Exceptions, Unstable, IgnorableProperties, IgnorableBlocks and OldHangulJamo (sections 2.2 to 2.9). */
const DISALLOWED = new RegExp(
  [
    '[\\u0640\\u07FA\\u302E\\u302F\\u3031-\\u3035\\u303B]',
    '\\p{Changes_When_NFKC_Casefolded}',
    '[\\p{Default_Ignorable_Code_Point}\\p{White_Space}\\p{Noncharacter_Code_Point}]',
    '[\\u20D0-\\u20FF\\u{1D100}-\\u{1D1FF}\\u{1D200}-\\u{1D24F}]',
    '[\\u1100-\\u11FF\\uA960-\\uA97C\\uD7B0-\\uD7C6\\uD7CB-\\uD7FB]',
  ].join('|'),
  'u',
);

/** Characters that are allowed in some labels only. Each occurrence must satisfy the rule. */
const CONTEXT_RULES: ReadonlyMap<string, RegExp> = new Map([
  ['\u00B7', /^(?:(?<=l)\u00B7(?=l)|[^\u00B7])+$/u],
  ['\u0375', /^(?:\u0375(?=\p{Script=Greek})|[^\u0375])+$/u],
  ['\u05F3', /^(?:(?<=\p{Script=Hebrew})\u05F3|[^\u05F3])+$/u],
  ['\u05F4', /^(?:(?<=\p{Script=Hebrew})\u05F4|[^\u05F4])+$/u],
  ['\u30FB', /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u],
]);

/** A joiner follows a virama; a non-joiner may also separate letters that would join. */
const areJoinersAllowed = (label: string): boolean => !/[\u200C\u200D]/u.test(label) || !BAD_JOINER.test(label);

const TRANSPARENT = '[[\\p{Mn}\\p{Me}\\p{Cf}]--[\\u200C\\u200D]]*';
const BAD_JOINER = new RegExp(
  `(?<!${VIRAMA})(?:\\u200D|\\u200C(?!(?<=${JOINS_NEXT}${TRANSPARENT}\\u200C)(?=${TRANSPARENT}${JOINS_PREVIOUS})))`,
  'v',
);

/**
 * RFC 5893, section 2, for the label alone: rules 1 to 6 for one with right-to-left characters. The classes are those of
 * Unicode's Bidi_Class for characters that labels may contain.
 */
function isDirectionAllowed(label: string): boolean {
  const classes = toBidiClasses(label);
  if (!/[RA]/.test(classes)) return true;
  return /^R[RAEN\-M]*[RAE]M*$|^RM*$/.test(classes) && !(classes.includes('E') && classes.includes('A'));
}

/** Returns one letter per character: R (R and AL), A (AN), E (EN), M (NSM), `-` (ES), N (ON and BN) or L. */
const toBidiClasses = (label: string): string =>
  Array.from(label, (character) => {
    if (character === '-') return '-';
    if (/[0-9\u06F0-\u06F9]/u.test(character)) return 'E';
    if (NEUTRAL.test(character)) return 'N';
    if (/\p{Mn}/u.test(character)) return 'M';
    if (/[\u0660-\u0669\u{10D30}-\u{10D39}\u{10D40}-\u{10D49}]/u.test(character)) return 'A';
    return RIGHT_TO_LEFT.test(character) ? 'R' : 'L';
  }).join('');

/** Joiners, and modifier letters and marks without a direction. */
const NEUTRAL = /\p{Join_Control}|[\u00B7\u02B9\u02BA\u02C6-\u02CF\u02EC\u0375\u2E2F\u30FB\uA67F\uA717-\uA71F\uA788]/u;

const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFF\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
