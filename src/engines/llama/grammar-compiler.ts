import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import { createLru } from '../../lib/lru.ts';
import type { Grammar } from '../../core/grammar.ts';
import {
  GRAMMAR_COMPILE_HEAP_MB,
  GRAMMAR_COMPILE_MS_MAX,
  GRAMMARS_KEPT_CHARS_MAX,
  GRAMMARS_KEPT_MAX,
} from '../../core/limits.ts';
import type { EngineOwner } from '../engine.ts';
import { createFairQueue } from './fair-queue.ts';

/** A grammar that is refused; `field` is where its schema stands in the request. */
export class GrammarRefusedError extends Error {
  override readonly name = 'GrammarRefusedError';
  readonly field: string | undefined;

  constructor(message: string, field: string | undefined) {
    super(message);
    this.field = field;
  }
}

/** Grammars could not be compiled now, through no fault of theirs. */
export class CompilerBusyError extends Error {
  override readonly name = 'CompilerBusyError';
}

/**
 * GBNF of each grammar of a request.
 * @throws GrammarRefusedError; CompilerBusyError when too many wait.
 */
export type CompileGrammars = (grammars: readonly Grammar[], owner: EngineOwner) => Promise<readonly string[]>;

export interface GrammarCompiler {
  readonly compile: CompileGrammars;
  close(): Promise<void>;
}

/** What the worker is sent: the grammars of one request that are not known yet, as JSON: a large object takes longer to pass. */
export interface CompileJob {
  readonly grammars: readonly string[];
}

interface NewGrammar {
  readonly grammar: Grammar;
  readonly json: string;
}

/** What it answers: `begun` before each grammar, then one of the others. */
export type CompileAnswer =
  | { readonly type: 'begun'; readonly at: number }
  | { readonly type: 'done'; readonly gbnf: readonly string[] }
  | { readonly type: 'refused'; readonly message: string; readonly field?: string }
  | { readonly type: 'fault'; readonly message: string };

export interface CompilerOptions {
  readonly msMax?: number;
  readonly heapMb?: number;
  /** The worker's main file; ours unless a test has another. */
  readonly main?: URL;
}

/** Requests that may wait for the one thread; a key has half of these places. Ours. */
const WAITING_MAX = 64;

/** Of schemas as deep as bodies may be, with room. Ours. */
const STACK_MB = 8;

interface Waiting {
  readonly grammars: readonly NewGrammar[];
  readonly resolve: (gbnf: readonly string[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Compiles grammars in a thread, with limits of time and memory: a hostile schema costs that thread, and nobody else waits
 * but those who have grammars to compile, fairly by their owners. It starts with the first grammar: 0.2 s and 20 to 40 MB,
 * which most engines never need.
 */
export function createGrammarCompiler({
  msMax = GRAMMAR_COMPILE_MS_MAX,
  heapMb = GRAMMAR_COMPILE_HEAP_MB,
  main = OWN_WORKER,
}: CompilerOptions = {}): GrammarCompiler {
  const kept = createLru<string>({ entriesMax: GRAMMARS_KEPT_MAX, weightMax: GRAMMARS_KEPT_CHARS_MAX });
  const queue = createFairQueue<Waiting>({ placesMax: WAITING_MAX });
  let worker: Worker | undefined;
  let running: Waiting | undefined;
  let begun = 0;
  let timer: NodeJS.Timeout | undefined;

  const start = (): Worker => {
    const started = new Worker(fileURLToPath(main), {
      name: 'grammars',
      resourceLimits: { maxOldGenerationSizeMb: heapMb, stackSizeMb: STACK_MB },
    });
    // A thread that nobody waits for keeps no process alive.
    started.unref();
    started.on('message', (answer: CompileAnswer) => started === worker && hear(answer));
    // After each of these the next request gets another thread.
    started.on('error', (error) => {
      if (started === worker) giveUp(isOutOfMemory(error) ? tooCostly('takes too much memory to compile') : error);
    });
    started.on('exit', () => started === worker && giveUp(new Error('the thread that compiles grammars has ended')));
    return started;
  };

  const hear = (answer: CompileAnswer): void => {
    switch (answer.type) {
      case 'begun':
        begun = answer.at;
        // The thread's own start is nobody's fault.
        if (begun === 0) timer?.refresh();
        return;
      case 'done':
        return over(({ resolve }) => resolve(answer.gbnf));
      case 'refused':
        return over(({ reject }) => reject(new GrammarRefusedError(answer.message, answer.field ?? fieldNow())));
      case 'fault':
        return over(({ reject }) => reject(new Error(answer.message)));
    }
  };

  const over = (settle: (job: Waiting) => void): void => {
    clearTimeout(timer);
    const job = running;
    running = undefined;
    worker?.unref();
    if (job) settle(job);
    next();
  };

  /** The thread is of no use any more. */
  const giveUp = (error: unknown): void => {
    const gone = worker;
    worker = undefined;
    void gone?.terminate();
    over(({ reject }) => reject(error));
  };

  const fieldNow = (): string | undefined => fieldOf(running?.grammars[begun]?.grammar);
  const tooCostly = (what: string): Error => new GrammarRefusedError(`The schema ${what}.`, fieldNow());

  const next = (): void => {
    const job = running ? undefined : queue.peek();
    if (!job) return;
    queue.take();
    running = job;
    begun = 0;
    worker ??= start();
    worker.ref();
    worker.postMessage({ grammars: job.grammars.map(({ json }) => json) } satisfies CompileJob);
    timer = setTimeout(() => giveUp(tooCostly(`takes longer than ${msMax} ms to compile`)), msMax);
  };

  const compileNew = (grammars: readonly NewGrammar[], owner: EngineOwner): Promise<readonly string[]> =>
    new Promise((resolve, reject) => {
      if (queue.add(owner, { grammars, resolve, reject }) !== 'added')
        return reject(new CompilerBusyError('too many requests wait for their schemas to be compiled'));
      next();
    });

  return {
    async compile(grammars, owner) {
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
        const made = await compileNew([...missing.values()], owner);
        for (const [at, key] of [...missing.keys()].entries()) {
          const gbnf = made[at];
          assert(gbnf !== undefined, 'each grammar was compiled');
          known.set(key, gbnf);
          kept.set(key, gbnf, gbnf.length);
        }
      }
      return keys.map((key) => known.get(key) ?? '');
    },
    async close() {
      const gone = worker;
      worker = undefined;
      await gone?.terminate();
    },
  };
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';

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
