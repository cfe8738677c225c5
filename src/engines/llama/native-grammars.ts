import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LRUCache } from 'lru-cache';
import { GRAMMAR_CACHE_CHARS_MAX, GRAMMAR_CACHE_ENTRIES_MAX } from '../limits.ts';

/** A parsed grammar. Each output needs its own state. */
export interface NativeGrammar {
  newState(): unknown;
  /** Call this when a state is no longer used. */
  releaseState(): void;
}

/** The grammar classes of the library's internal binding. */
export interface BindingGrammars {
  /** The whole binding, which grammars require as a constructor option. */
  readonly exports: unknown;
  readonly model: unknown;
  readonly AddonGrammar: new (gbnf: string, options: { addonExports: unknown; rootRuleName: string }) => unknown;
  /** Creates a state from a model and a grammar, which is parsed again, or by copying another state. */
  readonly AddonGrammarEvaluationState: new (from: unknown, grammar?: unknown) => object;
}

export interface NativeGrammars {
  /** @throws Error if the grammar cannot be parsed. */
  get(gbnf: string): NativeGrammar;
}

/**
 * Characters of released states after which garbage is collected, which takes 16 to 25 ms. A state holds native memory
 * (up to eight bytes per grammar character) that only JavaScript's garbage collector frees, and that it does not count.
 */
const CHARS_PER_COLLECTION = 4 * 1024 * 1024;

/** Number of released states after which garbage is collected, however small they are. */
const STATES_PER_COLLECTION = 256;

/**
 * Caches grammars in parsed form. The first use of a grammar parses it twice, 9 ms each for 200 KB; a further state is
 * a copy of the first and takes 1 ms. Caching pays off because agents send the same tools with every request.
 */
export function createNativeGrammars(
  { exports, model, AddonGrammar, AddonGrammarEvaluationState }: BindingGrammars,
  collect: () => void = createCollector(),
): NativeGrammars {
  const cache = new LRUCache<string, NativeGrammar>({
    max: GRAMMAR_CACHE_ENTRIES_MAX,
    maxSize: GRAMMAR_CACHE_CHARS_MAX,
    sizeCalculation: (_grammar, gbnf) => gbnf.length,
    memoMethod(gbnf) {
      const parsed = new AddonGrammar(gbnf, { addonExports: exports, rootRuleName: 'root' });
      const firstState = new AddonGrammarEvaluationState(model, parsed);
      return {
        newState: () => new AddonGrammarEvaluationState(firstState),
        releaseState: () => countRelease(gbnf),
      };
    },
  });
  let releasedStates = 0;
  let releasedChars = 0;

  const countRelease = (gbnf: string): void => {
    releasedStates++;
    releasedChars += gbnf.length;
    if (releasedStates < STATES_PER_COLLECTION && releasedChars < CHARS_PER_COLLECTION) return;
    releasedStates = 0;
    releasedChars = 0;
    collect();
  };

  return { get: (gbnf) => cache.memo(gbnf) };
}

/** Returns V8's garbage collector. It exists only in contexts that are created while the V8 flag is set. */
function createCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collectGarbage: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof collectGarbage === 'function' ? () => void collectGarbage() : () => undefined;
}
