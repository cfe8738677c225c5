import type { ToolFormat } from './tool-formats.ts';

/** A pattern of call markup. */
export type CallPattern =
  /** Exactly these characters. */
  | string
  /** White space, possibly none. */
  | { readonly type: 'blank' }
  /** A tool's name: a declared one, or any name where `acceptsAny`. */
  | { readonly type: 'name'; readonly acceptsAny: boolean }
  /** A character that cannot continue a name. */
  | { readonly type: 'name-end' }
  /** Characters of an id, possibly none. */
  | { readonly type: 'id' }
  /** A JSON object, which becomes the arguments. */
  | { readonly type: 'object' }
  | { readonly type: 'sequence'; readonly parts: readonly CallPattern[] }
  | { readonly type: 'any-of'; readonly options: readonly CallPattern[] }
  /** Any number of repetitions. */
  | { readonly type: 'repeat'; readonly of: CallPattern }
  /** Recognizes a token here. */
  | { readonly type: 'match'; readonly match: MarkupToken };

/** The meaning of recognized markup. */
export type MarkupToken =
  /**
   * A call starts. `members`: more of its object follows. `value`: its arguments follow, inside an object (`isObject`)
   * or not. `closed`: it has no arguments, or they came before its name. `tail`: index of the program's tail that follows the call.
   */
  | {
      readonly type: 'call';
      readonly body: 'members' | 'value' | 'closed';
      readonly isObject: boolean;
      readonly tail: number;
      /** Format of the call where it is not that of the model. */
      readonly format?: ToolFormat;
      /** Number of characters at its end that only showed that it is a call, and that belong to its arguments. */
      readonly readAgain?: number;
    }
  /** The markup of a call may end here. */
  | { readonly type: 'end' };

export const BLANK: CallPattern = { type: 'blank' };
/** Matches the name of a declared tool. */
export const NAME: CallPattern = { type: 'name', acceptsAny: false };
/** Matches any name: marks show that a call is meant, whether its tool is declared or not. */
export const ANY_NAME: CallPattern = { type: 'name', acceptsAny: true };
export const NAME_END: CallPattern = { type: 'name-end' };
export const ID: CallPattern = { type: 'id' };
export const OBJECT: CallPattern = { type: 'object' };
export const createSequence = (...parts: readonly CallPattern[]): CallPattern => ({ type: 'sequence', parts });
export const createAlternatives = (...options: readonly CallPattern[]): CallPattern => ({ type: 'any-of', options });
export const createRepetition = (of: CallPattern): CallPattern => ({ type: 'repeat', of });
export const createOptional = (of: CallPattern): CallPattern => createAlternatives(of, '');
export const createMatch = (token: MarkupToken): CallPattern => ({ type: 'match', match: token });

/** Whether a character is white space: tab, line breaks and space. */
export const isBlank = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

const isIdCharacter = (code: number): boolean => /[\w-]/.test(String.fromCharCode(code));

/** A step of a compiled pattern: takes a character and continues at `next`, or continues at once. */
export type PatternStep =
  | { readonly type: 'character'; readonly code: number; readonly next: number }
  | { readonly type: 'class'; readonly has: (code: number) => boolean; readonly next: number }
  | { readonly type: 'name'; readonly acceptsAny: boolean; readonly next: number }
  | { readonly type: 'object'; readonly next: number }
  | { readonly type: 'fork'; readonly next: readonly number[] }
  | { readonly type: 'match'; readonly match: MarkupToken };

/** Compiles patterns into steps of one program; a pattern is identified by its first step. */
export interface PatternCompiler {
  readonly steps: readonly PatternStep[];
  /** @returns the first step. */
  add(pattern: CallPattern): number;
}

export function createPatternCompiler(): PatternCompiler {
  const steps: PatternStep[] = [];
  const addStep = (step: PatternStep): number => steps.push(step) - 1;

  const addLoop = (body: (back: number) => number, next: number): number => {
    const ways: number[] = [];
    const fork = addStep({ type: 'fork', next: ways });
    ways.push(body(fork), next);
    return fork;
  };

  const compile = (pattern: CallPattern, next: number): number => {
    if (typeof pattern === 'string') {
      let after = next;
      for (let at = pattern.length - 1; at >= 0; at--)
        after = addStep({ type: 'character', code: pattern.charCodeAt(at), next: after });
      return after;
    }
    switch (pattern.type) {
      case 'blank':
        return addLoop((back) => addStep({ type: 'class', has: isBlank, next: back }), next);
      case 'id':
        return addLoop((back) => addStep({ type: 'class', has: isIdCharacter, next: back }), next);
      case 'name-end':
        return addStep({ type: 'class', has: (code) => !isIdCharacter(code), next });
      case 'name':
      case 'object':
        return addStep({ ...pattern, next });
      case 'sequence':
        return pattern.parts.reduceRight((after, part) => compile(part, after), next);
      case 'any-of':
        return addStep({ type: 'fork', next: pattern.options.map((option) => compile(option, next)) });
      case 'repeat':
        return addLoop((back) => compile(pattern.of, back), next);
      case 'match':
        return addStep({ type: 'match', match: pattern.match });
    }
  };

  const deadEnd = addStep({ type: 'fork', next: [] });
  return { steps, add: (pattern) => compile(pattern, deadEnd) };
}
