import type { PromptSegment } from '../core/prompt.ts';
import { restoreText, type StandIns } from './jinja/rendering.ts';

/** Finds a vocabulary's special tokens in prompts, and keeps the texts of callers from containing any. */
export interface SpecialTokens {
  /**
   * Returns stand-ins for the characters of callers' texts that could start a special token: neither a token that a
   * caller wrote, nor one that results from joining texts, is special in the prompt.
   *
   * @param variables JSON values that contain the callers' texts.
   * @returns undefined when no text contains such a character, or when there are no tokens.
   * @throws RangeError when the texts contain all characters that could be stand-ins.
   */
  createStandIns(variables: unknown): StandIns | undefined;
  /** Splits a prompt at special tokens, and replaces stand-ins by their originals. */
  split(prompt: string, standIns: StandIns | undefined): PromptSegment[];
}

/** Characters of private use: in the basic plane, and in plane 15 for originals that have two code units as well. */
const PRIVATE_USE = { from: 0xe000, to: 0xf8ff };
const PRIVATE_USE_OF_PLANE_15 = { from: 0xf_0000, to: 0xf_fffd };

/** @param tokens Texts of the special tokens. */
export function createSpecialTokens(tokens: readonly string[]): SpecialTokens {
  // Alternatives are sorted longest first, so that no token hides a longer one.
  const texts = [...new Set(tokens)].filter((text) => text !== '').toSorted((a, b) => b.length - a.length);
  if (texts.length === 0)
    return {
      createStandIns: () => undefined,
      split: (text) => (text === '' ? [] : [{ text, special: false }]),
    };
  const tokenPattern = new RegExp(texts.map((text) => RegExp.escape(text)).join('|'), 'g');
  const characters = [...new Set(texts.map(getFirstCharacter))];
  const replaced = createReplacedPattern(texts);
  const candidates = createCandidates(characters);
  return {
    createStandIns(variables) {
      if (!someText(variables, (text) => text.search(replaced) >= 0)) return undefined;
      for (const candidate of candidates())
        if (!someText(variables, (text) => text.search(candidate.pattern) >= 0)) return { ...candidate, replaced };
      throw new RangeError('The texts contain all characters of private use.');
    },
    split: (prompt, standIns) => splitAtTokens(prompt, tokenPattern, standIns),
  };
}

const getFirstCharacter = (text: string): string => String.fromCodePoint(text.codePointAt(0) ?? 0);

/**
 * Matches each character that starts a token. Letters, digits and white space are common in ordinary text, and templates
 * look at them: these match only where a whole token follows.
 */
function createReplacedPattern(texts: readonly string[]): RegExp {
  const isCommon = (text: string): boolean => /^[\p{L}\p{N}\s]/u.test(text);
  const signs = texts.filter((text) => !isCommon(text)).map((text) => RegExp.escape(getFirstCharacter(text)));
  const tokens = texts.filter(isCommon).map((text) => `(?=${RegExp.escape(text)}).`);
  return new RegExp([...new Set(signs), ...tokens].join('|'), 'gsu');
}

/** Returns a function that yields sets of stand-ins: each set has one per character, with as many code units. */
function createCandidates(characters: readonly string[]): () => Iterable<Omit<StandIns, 'replaced'>> {
  const count = characters.length;
  return function* create() {
    for (let offset = 0; PRIVATE_USE.from + offset + count - 1 <= PRIVATE_USE.to; offset += count) {
      const standIns = new Map(
        characters.map((character, i) => {
          const { from } = character.length === 1 ? PRIVATE_USE : PRIVATE_USE_OF_PLANE_15;
          return [character, String.fromCodePoint(from + offset + i)];
        }),
      );
      yield {
        standIns,
        originals: new Map([...standIns].map(([original, standIn]) => [standIn, original])),
        pattern: new RegExp(`[${[...standIns.values()].join('')}]`, 'gu'),
      };
    }
  };
}

/** Whether any text in a JSON value, also a name of a member, passes a test. */
function someText(value: unknown, test: (text: string) => boolean): boolean {
  if (typeof value === 'string') return test(value);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => someText(item, test));
  for (const key in value) if (test(key) || someText(Reflect.get(value, key), test)) return true;
  return false;
}

function splitAtTokens(prompt: string, tokens: RegExp, standIns: StandIns | undefined): PromptSegment[] {
  const segments: PromptSegment[] = [];
  const pushText = (text: string): void => {
    if (text !== '') segments.push({ text: standIns ? restoreText(text, standIns) : text, special: false });
  };
  let from = 0;
  for (const { 0: token, index } of prompt.matchAll(tokens)) {
    pushText(prompt.slice(from, index));
    segments.push({ text: token, special: true });
    from = index + token.length;
  }
  pushText(prompt.slice(from));
  return segments;
}
