// Main file of the thread that checks answers (answer-check.ts).
import type { JsonSchema } from '../core/grammar.ts';
import { ANSWER_CHECKS_KEPT_CHARS_MAX, ANSWER_CHECKS_KEPT_MAX } from '../core/limits.ts';
import { createCheck } from '../grammar/check.ts';
import { createLru } from '../lib/lru.ts';
import { isStackOverflow, serveWorker } from '../lib/serve-worker.ts';
import type { Checked, CheckJob } from './answer-check.ts';

const kept = createLru<ReturnType<typeof createCheck>>({
  entriesMax: ANSWER_CHECKS_KEPT_MAX,
  weightMax: ANSWER_CHECKS_KEPT_CHARS_MAX,
});

serveWorker<CheckJob, Checked>(({ schema, text }, begin) => {
  begin(0);
  try {
    // Our own process wrote it.
    const check = kept.get(schema) ?? createCheck(JSON.parse(schema) as JsonSchema);
    const problem = check(JSON.parse(text));
    kept.set(schema, check, schema.length);
    return { problem };
  } catch (error) {
    if (isStackOverflow(error)) return { problem: '$ is nested too deep to check' };
    throw error;
  }
});
