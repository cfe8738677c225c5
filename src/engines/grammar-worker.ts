// Main file of the thread that compiles grammars (grammar-compiler.ts). It does one request at a time and knows nothing else.
import { isStackOverflow, serveWorker } from '../lib/serve-worker.ts';
import type { Grammar } from '../core/grammar.ts';
import { compileGrammar } from '../grammar/compile.ts';
import { GrammarError } from '../grammar/grammar-error.ts';
import { createLanguageMemory } from '../grammar/language-memory.ts';
import type { Compiled, CompileJob } from './grammar-compiler.ts';

const memory = createLanguageMemory();

serveWorker<CompileJob, Compiled>(({ grammars }, begin) => {
  const gbnf: string[] = [];
  for (const [part, grammar] of grammars.entries()) {
    begin(part);
    try {
      // Our own process wrote it.
      gbnf.push(compileGrammar(JSON.parse(grammar) as Grammar, memory));
    } catch (error) {
      if (error instanceof GrammarError) return { type: 'refused', part, message: error.message, field: error.field };
      if (isStackOverflow(error)) return { type: 'refused', part, message: 'The schema is nested too deeply.' };
      throw error;
    }
  }
  return { type: 'made', gbnf };
});
