// Entry file of the worker thread that checks answers against their schemas (answer-checker.ts).
import { LRUCache } from 'lru-cache';
import type { JsonSchema } from '../core/grammar.ts';
import { ANSWER_CHECK_CACHE_CHARS_MAX, ANSWER_CHECK_CACHE_ENTRIES_MAX } from './limits.ts';
import { createSchemaCheck } from '../grammar/schema-check.ts';
import { isStackOverflow, serveWorker } from '../lib/serve-worker.ts';
import type { AnswerCheckResult, AnswerCheckJob } from './answer-checker.ts';

const cachedChecks = new LRUCache<string, ReturnType<typeof createSchemaCheck>>({
  max: ANSWER_CHECK_CACHE_ENTRIES_MAX,
  maxSize: ANSWER_CHECK_CACHE_CHARS_MAX,
});

serveWorker<AnswerCheckJob, AnswerCheckResult>(({ schema, text }, reportStart) => {
  reportStart(0);
  try {
    // The schema text comes from Parley's own process, so it is valid JSON.
    const check = cachedChecks.get(schema) ?? createSchemaCheck(JSON.parse(schema) as JsonSchema);
    const problem = check(JSON.parse(text));
    cachedChecks.set(schema, check, { size: schema.length });
    return { problem };
  } catch (error) {
    if (isStackOverflow(error)) return { problem: '$ is nested too deep to check' };
    throw error;
  }
});
