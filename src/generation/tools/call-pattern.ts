/** What the markup of a call looks like. */
export type CallPattern =
  /** These characters. */
  | string
  /** White space, also none. */
  | { readonly type: 'blank' }
  /** A declared name. */
  | { readonly type: 'name' }
  /** Characters of an id, also none. */
  | { readonly type: 'id' }
  | { readonly type: 'sequence'; readonly parts: readonly CallPattern[] }
  | { readonly type: 'any-of'; readonly options: readonly CallPattern[] }
  /** Any number of times. */
  | { readonly type: 'repeat'; readonly of: CallPattern }
  /** The markup is recognised. */
  | { readonly type: 'match'; readonly match: Match };

/** What recognised markup means. */
export type Match =
  /**
   * A call begins. `members`: more of its object follows. `value`: its arguments follow, in an object (`isObject`) or not.
   * `closed`: it has none. `tail`: which of the program's tails follows it.
   */
  | {
      readonly type: 'call';
      readonly body: 'members' | 'value' | 'closed';
      readonly isObject: boolean;
      readonly tail: number;
    }
  /** The markup of a call ends here, or later. */
  | { readonly type: 'end' };

export const BLANK: CallPattern = { type: 'blank' };
export const NAME: CallPattern = { type: 'name' };
export const ID: CallPattern = { type: 'id' };
export const sequence = (...parts: readonly CallPattern[]): CallPattern => ({ type: 'sequence', parts });
export const anyOf = (...options: readonly CallPattern[]): CallPattern => ({ type: 'any-of', options });
export const repeat = (of: CallPattern): CallPattern => ({ type: 'repeat', of });
export const optional = (of: CallPattern): CallPattern => anyOf(of, '');
export const match = (found: Match): CallPattern => ({ type: 'match', match: found });

/** White space as JSON has it. */
export const isBlank = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

const isIdCharacter = (code: number): boolean => /[\w-]/.test(String.fromCharCode(code));

/** A step of a compiled pattern: takes a character and leads on, or leads on at once. */
export type Step =
  | { readonly type: 'character'; readonly code: number; readonly next: number }
  | { readonly type: 'class'; readonly has: (code: number) => boolean; readonly next: number }
  | { readonly type: 'name'; readonly next: number }
  | { readonly type: 'fork'; readonly next: readonly number[] }
  | { readonly type: 'match'; readonly match: Match };

/** Patterns become steps of one program; a pattern is known by its first step. */
export interface PatternCompiler {
  readonly steps: readonly Step[];
  /** @returns the first step. */
  add(pattern: CallPattern): number;
}

export function createPatternCompiler(): PatternCompiler {
  const steps: Step[] = [];
  const put = (step: Step): number => steps.push(step) - 1;

  const loop = (body: (back: number) => number, next: number): number => {
    const ways: number[] = [];
    const fork = put({ type: 'fork', next: ways });
    ways.push(body(fork), next);
    return fork;
  };

  const compile = (pattern: CallPattern, next: number): number => {
    if (typeof pattern === 'string')
      return [...Array(pattern.length).keys()].reduceRight(
        (after, at) => put({ type: 'character', code: pattern.charCodeAt(at), next: after }),
        next,
      );
    switch (pattern.type) {
      case 'blank':
        return loop((back) => put({ type: 'class', has: isBlank, next: back }), next);
      case 'id':
        return loop((back) => put({ type: 'class', has: isIdCharacter, next: back }), next);
      case 'name':
        return put({ type: 'name', next });
      case 'sequence':
        return pattern.parts.reduceRight((after, part) => compile(part, after), next);
      case 'any-of':
        return put({ type: 'fork', next: pattern.options.map((option) => compile(option, next)) });
      case 'repeat':
        return loop((back) => compile(pattern.of, back), next);
      case 'match':
        return put({ type: 'match', match: pattern.match });
    }
  };

  const nowhere = put({ type: 'fork', next: [] });
  return { steps, add: (pattern) => compile(pattern, nowhere) };
}
