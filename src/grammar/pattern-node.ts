import type { CharacterSet } from './characters.ts';

/** A regular expression, read. */
export type PatternNode =
  | { readonly type: 'set'; readonly set: CharacterSet }
  | { readonly type: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly type: 'choice'; readonly options: readonly PatternNode[] }
  /** `max` may be Infinity. */
  | { readonly type: 'repeat'; readonly item: PatternNode; readonly min: number; readonly max: number }
  /** `^` or `$`. */
  | { readonly type: 'edge'; readonly edge: 'start' | 'end' }
  /** A lookahead; `isWanted` is false for a negative one. */
  | { readonly type: 'ahead'; readonly item: PatternNode; readonly isWanted: boolean };
