import type { CharacterSet } from './character-set.ts';

/** Syntax tree of a regular expression. */
export type PatternNode =
  | { readonly type: 'set'; readonly set: CharacterSet }
  | { readonly type: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly type: 'choice'; readonly options: readonly PatternNode[] }
  /** `max` may be Infinity. */
  | { readonly type: 'repeat'; readonly item: PatternNode; readonly min: number; readonly max: number }
  /** The anchor `^` or `$`. */
  | { readonly type: 'anchor'; readonly anchor: 'start' | 'end' }
  /** A lookahead; `isWanted` is false for a negative one. */
  | { readonly type: 'lookahead'; readonly item: PatternNode; readonly isPositive: boolean };
