import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { GRAMMARS_KEPT_CHARS_MAX, GRAMMARS_KEPT_MAX } from '../../core/limits.ts';
import { createLru } from '../../lib/lru.ts';

/** A parsed grammar; each output needs a state of its own. */
export interface NativeGrammar {
  newState(): unknown;
  /** One of its states is no longer used. */
  letGo(): void;
}

/** The part of the library's binding that knows grammars. */
export interface BindingGrammars {
  /** All of the binding: grammars want to hold it. */
  readonly exports: unknown;
  readonly model: unknown;
  readonly AddonGrammar: new (gbnf: string, options: { addonExports: unknown; rootRuleName: string }) => unknown;
  /** Of a model and a grammar, which parses it again; or of another state, which copies that. */
  readonly AddonGrammarEvaluationState: new (from: unknown, grammar?: unknown) => object;
}

export interface NativeGrammars {
  /** @throws Error when it cannot be parsed. */
  get(gbnf: string): NativeGrammar;
}

/**
 * States hold native memory (up to eight bytes for each character of the grammar) that only JavaScript's garbage collector
 * gives back, and it sees nothing but empty objects. So many characters are let go before it is called: 16 to 25 ms.
 */
const CHARS_BETWEEN_COLLECTIONS = 4 * 1024 * 1024;

/** However small they are. */
const STATES_BETWEEN_COLLECTIONS = 256;

/**
 * Grammars as the library parses them: 9 ms for 200 KB, twice, the first time one is used. A further state is a copy of the
 * first (1 ms). Agents send the same tools with every request, so they are kept.
 */
export function createNativeGrammars(
  { exports, model, AddonGrammar, AddonGrammarEvaluationState }: BindingGrammars,
  collect: () => void = createCollector(),
): NativeGrammars {
  const kept = createLru<NativeGrammar>({ entriesMax: GRAMMARS_KEPT_MAX, weightMax: GRAMMARS_KEPT_CHARS_MAX });
  let states = 0;
  let chars = 0;

  const letGo = (gbnf: string): void => {
    states++;
    chars += gbnf.length;
    if (states < STATES_BETWEEN_COLLECTIONS && chars < CHARS_BETWEEN_COLLECTIONS) return;
    states = 0;
    chars = 0;
    collect();
  };

  return {
    get(gbnf) {
      const known = kept.get(gbnf);
      if (known) return known;
      const parsed = new AddonGrammar(gbnf, { addonExports: exports, rootRuleName: 'root' });
      const first = new AddonGrammarEvaluationState(model, parsed);
      const grammar: NativeGrammar = {
        newState: () => new AddonGrammarEvaluationState(first),
        letGo: () => letGo(gbnf),
      };
      kept.set(gbnf, grammar, gbnf.length);
      return grammar;
    },
  };
}

/** Node offers the collector only where a flag of V8 says so; the flag works for contexts made after it. */
function createCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof collect === 'function' ? () => void collect() : () => undefined;
}
