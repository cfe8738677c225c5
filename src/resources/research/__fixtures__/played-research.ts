import assert from 'node:assert/strict';
import { ServiceError } from '../../../core/error.ts';
import type {
  Research,
  ResearchContext,
  ResearchEvent,
  ResearchRequest,
  ResearchStep,
} from '../../../core/research.ts';

export const REQUEST: ResearchRequest = {
  model: 'svc-deep-research',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Where do swifts sleep?' }] }],
  reportSize: 'summary',
};

/** How many steps a played run has: a plan, two queries, and a report in three. */
export const PLAYED_STEPS = 6;

interface Kept {
  /** Numbers of all steps up to this one. */
  readonly made: readonly number[];
}

export interface PlayedResearchOptions {
  /** Before each step: waits, or rejects in its place. */
  readonly before?: (step: number, context: ResearchContext) => Promise<unknown>;
  readonly check?: Research['check'];
}

export interface PlayedResearch extends Research {
  /** Numbers of steps that were begun, in order, of all runs together. */
  readonly begun: number[];
  readonly contexts: ResearchContext[];
}

/** A run whose steps say what they build on: one that is made twice, or without those before it, says something else. */
export function playResearch({ before, check }: PlayedResearchOptions = {}): PlayedResearch {
  const begun: number[] = [];
  const contexts: ResearchContext[] = [];
  return {
    begun,
    contexts,
    clarify: () => Promise.reject(new Error('nobody asks back here')),
    check: check ?? (() => Promise.resolve()),
    async *run(_request, past, context) {
      contexts.push(context);
      const steps = [...past];
      while (steps.length < PLAYED_STEPS) {
        begun.push(steps.length);
        await before?.(steps.length, context);
        if (context.signal.aborted) throw ServiceError.from(context.signal.reason);
        const step = playedStep(steps);
        steps.push(step);
        yield step;
      }
    },
  };
}

/** The step behind these. */
export function playedStep(past: readonly ResearchStep[]): ResearchStep {
  const number = past.length;
  const last = past.at(-1)?.keep as Kept | undefined;
  const made = [...(last?.made ?? []), number];
  const usage: ResearchEvent = { type: 'usage', inputTokens: 100 * made.length, outputTokens: 10 * made.length };
  return { tell: [usage, ...(told(made)[number] ?? assert.fail(`there is no step ${number}`))], keep: { made } };
}

const told = (made: readonly number[]): readonly (readonly ResearchEvent[])[] => [
  [{ type: 'plan', text: `Look it up. ${made.join()}` }, { type: 'plan-end' }],
  query(1, made),
  query(2, made),
  [{ type: 'report', text: `# Swifts ${made.join()}\n` }],
  [{ type: 'report', text: `They sleep on the wing. [[1]] ${made.join()}`, references: [REFERENCE] }],
  [{ type: 'end', reason: 'stop' }],
];

const query = (id: number, made: readonly number[]): readonly ResearchEvent[] => [
  { type: 'query', id, query: `swifts ${id}`, goal: made.join() },
  { type: 'sites', id, sites: [{ number: id, ...SITE }] },
  { type: 'learned', id, site: 1, text: 'Swifts sleep on the wing.' },
  { type: 'query-end', id },
];

const SITE = { title: 'Swifts', description: '', url: 'https://birds.example/swifts', icon: '' };
const REFERENCE = { index: 1, ...SITE };

/** All that a run tells in its first steps; by default to its end. */
export function wholeRun(count = PLAYED_STEPS): readonly ResearchEvent[] {
  const steps: ResearchStep[] = [];
  while (steps.length < count) steps.push(playedStep(steps));
  return steps.flatMap(({ tell }) => tell);
}
