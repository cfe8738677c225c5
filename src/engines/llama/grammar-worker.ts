// Main file of the thread that compiles grammars (grammar-compiler.ts). It does one request at a time and knows nothing else.
import { parentPort } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import type { Grammar } from '../../core/grammar.ts';
import { compileGrammar } from '../../grammar/compile.ts';
import { GrammarError } from '../../grammar/grammar-error.ts';
import type { CompileAnswer, CompileJob } from './grammar-compiler.ts';

assert(parentPort, 'this file is the main file of a thread');
const port = parentPort;
const say = (answer: CompileAnswer): void => port.postMessage(answer);

port.on('message', ({ grammars }: CompileJob) => {
  try {
    const gbnf: string[] = [];
    for (const [at, grammar] of grammars.entries()) {
      say({ type: 'begun', at });
      // Our own process wrote it.
      gbnf.push(compileGrammar(JSON.parse(grammar) as Grammar));
    }
    say({ type: 'done', gbnf });
  } catch (error) {
    if (error instanceof GrammarError) say({ type: 'refused', message: error.message, field: error.field });
    else if (isStackOverflow(error)) say({ type: 'refused', message: 'The schema is nested too deeply.' });
    else say({ type: 'fault', message: String(error) });
  }
});

const isStackOverflow = (error: unknown): boolean => error instanceof RangeError && /call stack/.test(error.message);
