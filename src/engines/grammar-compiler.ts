import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { assert } from '../lib/assert.ts';
import { WorkerLimitError } from '../lib/bounded-worker.ts';
import type { Grammar } from '../core/grammar.ts';
import type { GenerationPhase } from '../core/prompt.ts';
import { QUEUE_WAIT_MS_MAX } from '../core/limits.ts';
import type { CompiledGrammar } from '../grammar/compile-grammar.ts';
import {
  GRAMMAR_COMPILE_HEAP_MB,
  GRAMMAR_COMPILE_MS_MAX,
  GRAMMAR_CACHE_CHARS_MAX,
  GRAMMAR_CACHE_ENTRIES_MAX,
} from './limits.ts';
import { createFairWorker, type Caller } from './fair-worker.ts';

/** Thrown for a grammar that cannot be compiled. `field` is the request field that contains its schema. */
export class GrammarRefusedError extends Error {
  override readonly name = 'GrammarRefusedError';
  readonly field: string | undefined;

  constructor(message: string, field: string | undefined) {
    super(message);
    this.field = field;
  }
}

/**
 * Compiles the grammars of a request to GBNF.
 * @throws GrammarRefusedError; WorkerBusyError if too many requests wait, or one waits too long; the signal's reason.
 */
export type CompileGrammars = (grammars: readonly Grammar[], caller: Caller) => Promise<readonly CompiledGrammar[]>;

export interface GrammarCompiler {
  readonly compile: CompileGrammars;
  close(): Promise<void>;
}

/** Message to the worker: the uncached grammars of a request as JSON, because posting a large object takes longer. */
export interface CompileRequest {
  readonly grammars: readonly string[];
}

export type CompileResult =
  | { readonly type: 'compiled'; readonly grammars: readonly CompiledGrammar[] }
  /** `part`: index of the rejected grammar. `field`: request field of its schema, if the compiler reports one. */
  | { readonly type: 'refused'; readonly part: number; readonly message: string; readonly field?: string };

interface UncachedGrammar {
  readonly grammar: Grammar;
  readonly json: string;
}

export interface GrammarCompilerOptions {
  readonly msMax?: number;
  readonly heapMb?: number;
  /** Longest wait of a request for the thread, in ms. */
  readonly queueWaitMsMax?: number;
  /** Main file of the worker; tests pass their own. */
  readonly workerUrl?: URL;
}

/** Number of requests that may wait for the one thread; one key may hold half of them. Chosen by Parley. */
const QUEUE_LENGTH_MAX = 64;

/**
 * Creates a compiler that runs in a worker thread with limits of time and memory. A hostile schema costs only that
 * thread; only other requests with grammars wait for it, in a queue that is fair between owners.
 */
export function createGrammarCompiler({
  msMax = GRAMMAR_COMPILE_MS_MAX,
  heapMb = GRAMMAR_COMPILE_HEAP_MB,
  queueWaitMsMax = QUEUE_WAIT_MS_MAX,
  workerUrl = DEFAULT_WORKER_URL,
}: GrammarCompilerOptions = {}): GrammarCompiler {
  const cache = new LRUCache<string, CompiledGrammar>({
    max: GRAMMAR_CACHE_ENTRIES_MAX,
    maxSize: GRAMMAR_CACHE_CHARS_MAX,
  });
  const bounds = { msMax, heapMb, queueWaitMsMax, queueLengthMax: QUEUE_LENGTH_MAX };
  const worker = createFairWorker<CompileRequest, CompileResult>({ name: 'grammars', entryUrl: workerUrl, ...bounds });

  const compileNew = async (
    grammars: readonly UncachedGrammar[],
    caller: Caller,
  ): Promise<readonly CompiledGrammar[]> => {
    const findField = (part: number): string | undefined => findSchemaField(grammars[part]?.grammar);
    const compiled = await worker
      .run({ grammars: grammars.map(({ json }) => json) }, caller)
      .catch((error: unknown) => {
        if (!(error instanceof WorkerLimitError)) throw error;
        const cost = error.limit === 'time' ? `longer than ${msMax} ms` : 'too much memory';
        const field = findField(error.part);
        throw new GrammarRefusedError(`The schema takes ${cost} to compile${formatField(field)}.`, field);
      });
    if (compiled.type === 'compiled') return compiled.grammars;
    throw new GrammarRefusedError(compiled.message, compiled.field ?? findField(compiled.part));
  };

  return {
    async compile(grammars, caller) {
      const compiledByKey = new Map<string, CompiledGrammar>();
      const uncachedByKey = new Map<string, UncachedGrammar>();
      const keys = grammars.map((grammar) => {
        const json = JSON.stringify(grammar);
        const key = createHash('sha256').update(json).digest('base64');
        const cached = cache.get(key);
        if (cached === undefined) uncachedByKey.set(key, { grammar, json });
        else compiledByKey.set(key, cached);
        return key;
      });
      if (uncachedByKey.size > 0) {
        const newlyCompiled = await compileNew([...uncachedByKey.values()], caller);
        for (const [at, key] of [...uncachedByKey.keys()].entries()) {
          const compiled = newlyCompiled[at];
          assert(compiled !== undefined, 'each grammar was compiled');
          compiledByKey.set(key, compiled);
          cache.set(key, compiled, { size: compiled.gbnf.length });
        }
      }
      return keys.flatMap((key) => compiledByKey.get(key) ?? []);
    },
    close: () => worker.close(),
  };
}

/** The grammars of a request's phases. */
export interface PhaseGrammars {
  /** GBNF of each phase that has a grammar, by phase index. */
  readonly gbnfByPhase: ReadonlyMap<number, string>;
  /** Whether a limit left a part of a schema out of a grammar, so that the answer must be checked. */
  readonly isWide: boolean;
}

/** Compiles all grammars of a request together; most requests have none. @throws as `CompileGrammars` does. */
export async function compilePhases(
  phases: readonly GenerationPhase[],
  compile: CompileGrammars,
  caller: Caller,
): Promise<PhaseGrammars> {
  const parts = phases.flatMap(({ grammar }, phase) => (grammar ? [{ phase, grammar }] : []));
  if (parts.length === 0) return { gbnfByPhase: new Map(), isWide: false };
  const compiled = await compile(
    parts.map(({ grammar }) => grammar),
    caller,
  );
  return {
    gbnfByPhase: new Map(parts.map(({ phase }, at) => [phase, compiled[at]?.gbnf ?? ''])),
    isWide: compiled.some(({ isWide }) => isWide),
  };
}

const formatField = (field: string | undefined): string => (field === undefined ? '' : ` (${field})`);

/** The worker's file has the same extension as this module: .ts in the sources, .js in dist. */
const DEFAULT_WORKER_URL = new URL(
  `./grammar-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`,
  import.meta.url,
);

/** Returns the request field of the first schema in a grammar. */
export function findSchemaField(grammar: Grammar | undefined): string | undefined {
  switch (grammar?.type) {
    case 'schema':
      return grammar.field;
    case 'sequence':
      return findFirstSchemaField(grammar.parts);
    case 'choice':
      return findFirstSchemaField(grammar.options);
    case 'text':
    case 'without':
    case 'without-text':
    case undefined:
      return undefined;
  }
}

function findFirstSchemaField(grammars: readonly Grammar[]): string | undefined {
  for (const grammar of grammars) {
    const field = findSchemaField(grammar);
    if (field !== undefined) return field;
  }
  return undefined;
}
