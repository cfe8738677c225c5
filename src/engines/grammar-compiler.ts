import { createHash } from 'node:crypto';
import { assert } from '../lib/assert.ts';
import { WorkerLimitError } from '../lib/bounded-worker.ts';
import { createLru } from '../lib/lru.ts';
import type { Grammar } from '../core/grammar.ts';
import {
  GRAMMAR_COMPILE_HEAP_MB,
  GRAMMAR_COMPILE_MS_MAX,
  GRAMMARS_KEPT_CHARS_MAX,
  GRAMMARS_KEPT_MAX,
  QUEUE_WAIT_MS_MAX,
} from '../core/limits.ts';
import { createFairWorker } from './fair-worker.ts';
import type { Asker } from './fair-worker.ts';

/** A grammar that is refused; `field` is where its schema stands in the request. */
export class GrammarRefusedError extends Error {
  override readonly name = 'GrammarRefusedError';
  readonly field: string | undefined;

  constructor(message: string, field: string | undefined) {
    super(message);
    this.field = field;
  }
}

/**
 * GBNF of each grammar of a request.
 * @throws GrammarRefusedError; WorkerBusyError when too many wait, or for too long; the signal's reason.
 */
export type CompileGrammars = (grammars: readonly Grammar[], asker: Asker) => Promise<readonly string[]>;

export interface GrammarCompiler {
  readonly compile: CompileGrammars;
  close(): Promise<void>;
}

/** What the worker is sent: the grammars of one request that are not known yet, as JSON: a large object takes longer to pass. */
export interface CompileJob {
  readonly grammars: readonly string[];
}

export type Compiled =
  | { readonly type: 'made'; readonly gbnf: readonly string[] }
  /** `part`: which of them; `field`: where its schema stands, where the compiler says so. */
  | { readonly type: 'refused'; readonly part: number; readonly message: string; readonly field?: string };

interface NewGrammar {
  readonly grammar: Grammar;
  readonly json: string;
}

export interface CompilerOptions {
  readonly msMax?: number;
  readonly heapMb?: number;
  /** How long, in ms, a request may wait for the thread. */
  readonly waitMsMax?: number;
  /** The worker's main file; ours unless a test has another. */
  readonly main?: URL;
}

/** Requests that may wait for the one thread; a key has half of these places. Ours. */
const WAITING_MAX = 64;

/**
 * Compiles grammars in a thread, with limits of time and memory: a hostile schema costs that thread, and nobody else waits
 * but those who have grammars to compile, fairly by their owners.
 */
export function createGrammarCompiler({
  msMax = GRAMMAR_COMPILE_MS_MAX,
  heapMb = GRAMMAR_COMPILE_HEAP_MB,
  waitMsMax = QUEUE_WAIT_MS_MAX,
  main = OWN_WORKER,
}: CompilerOptions = {}): GrammarCompiler {
  const kept = createLru<string>({ entriesMax: GRAMMARS_KEPT_MAX, weightMax: GRAMMARS_KEPT_CHARS_MAX });
  const bounds = { msMax, heapMb, waitMsMax, placesMax: WAITING_MAX };
  const worker = createFairWorker<CompileJob, Compiled>({ name: 'grammars', main, ...bounds });

  const compileNew = async (grammars: readonly NewGrammar[], asker: Asker): Promise<readonly string[]> => {
    const fieldAt = (part: number): string | undefined => fieldOf(grammars[part]?.grammar);
    const compiled = await worker.ask({ grammars: grammars.map(({ json }) => json) }, asker).catch((error: unknown) => {
      if (!(error instanceof WorkerLimitError)) throw error;
      const cost = error.limit === 'time' ? `longer than ${msMax} ms` : 'too much memory';
      const field = fieldAt(error.part);
      throw new GrammarRefusedError(`The schema takes ${cost} to compile${inBrackets(field)}.`, field);
    });
    if (compiled.type === 'made') return compiled.gbnf;
    throw new GrammarRefusedError(compiled.message, compiled.field ?? fieldAt(compiled.part));
  };

  return {
    async compile(grammars, asker) {
      const known = new Map<string, string>();
      const missing = new Map<string, NewGrammar>();
      const keys = grammars.map((grammar) => {
        const json = JSON.stringify(grammar);
        const key = createHash('sha256').update(json).digest('base64');
        const gbnf = kept.get(key);
        if (gbnf === undefined) missing.set(key, { grammar, json });
        else known.set(key, gbnf);
        return key;
      });
      if (missing.size > 0) {
        const made = await compileNew([...missing.values()], asker);
        for (const [at, key] of [...missing.keys()].entries()) {
          const gbnf = made[at];
          assert(gbnf !== undefined, 'each grammar was compiled');
          known.set(key, gbnf);
          kept.set(key, gbnf, gbnf.length);
        }
      }
      return keys.map((key) => known.get(key) ?? '');
    },
    close: () => worker.close(),
  };
}

const inBrackets = (field: string | undefined): string => (field === undefined ? '' : ` (${field})`);

/** The worker's file has the extension of ours: .ts from sources, .js from dist. */
const OWN_WORKER = new URL(`./grammar-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** Where the first schema of a grammar stands in the request. */
export function fieldOf(grammar: Grammar | undefined): string | undefined {
  switch (grammar?.type) {
    case 'schema':
      return grammar.field;
    case 'sequence':
      return firstField(grammar.parts);
    case 'choice':
      return firstField(grammar.options);
    case 'text':
    case 'without':
    case undefined:
      return undefined;
  }
}

function firstField(grammars: readonly Grammar[]): string | undefined {
  for (const grammar of grammars) {
    const field = fieldOf(grammar);
    if (field !== undefined) return field;
  }
  return undefined;
}
