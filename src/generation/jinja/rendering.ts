import { Dict, DictView } from './dict.ts';
import {
  TEMPLATE_CALL_DEPTH_MAX,
  TEMPLATE_CHARS_PER_STEP,
  TEMPLATE_ELEMENTS_PER_STEP,
  TEMPLATE_STEPS_MAX,
  TEMPLATE_VALUE_CHARS_MAX,
} from './limits.ts';
import { TemplateLimitError } from './template-error.ts';
import { Markup, Range, Tuple, type Value } from './values.ts';

/**
 * Characters of private use that stand for characters of callers' texts. A template that compares and searches texts sees
 * the originals. Each stand-in has as many code units as its original, so that positions stay the same.
 */
export interface StandIns {
  /** Matches the characters that are replaced. */
  readonly replaced: RegExp;
  /** Stand-ins by their originals. */
  readonly standIns: ReadonlyMap<string, string>;
  /** Matches the stand-ins. */
  readonly pattern: RegExp;
  /** Originals by their stand-ins. */
  readonly originals: ReadonlyMap<string, string>;
}

/** Returns a text with the originals of stand-ins. */
export const restoreText = (text: string, { pattern, originals }: StandIns): string =>
  text.replace(pattern, (character) => originals.get(character) ?? character);

/** The state of one rendering: what it has used of its limits. */
export class Rendering {
  readonly #standIns: StandIns | undefined;
  #steps = 0;
  #callDepth = 0;

  constructor(standIns?: StandIns) {
    this.#standIns = standIns;
  }

  /** @throws TemplateLimitError */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > TEMPLATE_STEPS_MAX)
      throw new TemplateLimitError(`the rendering takes more than ${TEMPLATE_STEPS_MAX} steps`);
  }

  /** Counts a text that is read or created, by its length. @throws TemplateLimitError */
  spendChars(chars: number): void {
    this.checkChars(chars);
    if (chars >= TEMPLATE_CHARS_PER_STEP) this.spend(Math.floor(chars / TEMPLATE_CHARS_PER_STEP));
  }

  /** @throws TemplateLimitError for a text that is too long. */
  checkChars(chars: number): void {
    if (chars > TEMPLATE_VALUE_CHARS_MAX)
      throw new TemplateLimitError(`a value has more than ${TEMPLATE_VALUE_CHARS_MAX} characters`);
  }

  /** Counts elements that are read or created at once. @throws TemplateLimitError */
  spendElements(elements: number): void {
    if (elements >= TEMPLATE_ELEMENTS_PER_STEP) this.spend(Math.floor(elements / TEMPLATE_ELEMENTS_PER_STEP));
  }

  /** Counts the use of a value by an operation, and returns it. */
  charge(value: Value): Value {
    if (typeof value === 'string') this.spendChars(value.length);
    else if (Array.isArray(value)) this.spendElements(value.length);
    else if (typeof value === 'object' && value !== null) {
      if (value instanceof Dict) this.spendElements(value.size);
      else if (value instanceof Tuple) this.spendElements(value.items.length);
      else if (value instanceof Markup) this.spendChars(value.text.length);
      else if (value instanceof Range) this.spendElements(value.length);
      else if (value instanceof DictView) this.spendElements(value.dict.size);
    }
    return value;
  }

  /** Runs a macro's or a recursive loop's body. @throws TemplateLimitError */
  enterCall<T>(run: () => T): T {
    if (++this.#callDepth > TEMPLATE_CALL_DEPTH_MAX)
      throw new TemplateLimitError(`calls are nested more than ${TEMPLATE_CALL_DEPTH_MAX} levels deep`);
    const result = run();
    this.#callDepth--;
    return result;
  }

  /** Returns a caller's text with stand-ins. */
  replace(text: string): string {
    const { replaced, standIns } = this.#standIns ?? {};
    return replaced && standIns ? text.replace(replaced, (character) => standIns.get(character) ?? character) : text;
  }

  /** Returns a text with the originals of its stand-ins: for comparing and searching. */
  restore(text: string): string {
    return this.#standIns ? restoreText(text, this.#standIns) : text;
  }

  isStandIn(character: string): boolean {
    return this.#standIns?.originals.has(character) ?? false;
  }
}
