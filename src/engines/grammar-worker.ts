// Main file of the worker thread of grammar-compiler.ts. It compiles the grammars of one request at a time.
import { isStackOverflow, serveWorker } from '../lib/serve-worker.ts';
import type { Grammar } from '../core/grammar.ts';
import { compileGrammar, type CompiledGrammar } from '../grammar/compile-grammar.ts';
import { GrammarError } from '../grammar/grammar-error.ts';
import { createLanguageCache } from '../grammar/language-cache.ts';
import type { CompileResult, CompileRequest } from './grammar-compiler.ts';

const memory = createLanguageCache();

serveWorker<CompileRequest, CompileResult>(({ grammars }, begin) => {
  const compiled: CompiledGrammar[] = [];
  for (const [part, grammar] of grammars.entries()) {
    begin(part);
    try {
      // The JSON comes from Parley's own process, so it is not validated.
      compiled.push(compileGrammar(JSON.parse(grammar) as Grammar, memory));
    } catch (error) {
      if (error instanceof GrammarError) return { type: 'refused', part, message: error.message, field: error.field };
      if (isStackOverflow(error)) return { type: 'refused', part, message: 'The schema is nested too deeply.' };
      throw error;
    }
  }
  return { type: 'compiled', grammars: compiled };
});
