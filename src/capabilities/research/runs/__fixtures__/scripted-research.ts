import assert from 'node:assert/strict';
import { ServiceError } from '../../../../core/error.ts';
import type {
  ResearchPipeline,
  ResearchContext,
  ResearchEvent,
  ResearchRequest,
  ResearchStep,
} from '../../research.ts';

export const REQUEST: ResearchRequest = {
  model: 'svc-deep-research',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Where do swifts sleep?' }] }],
  reportSize: 'summary',
};

/** Number of steps of a scripted run: a plan, two queries and a report in three parts. */
export const SCRIPTED_STEPS = 6;

interface ScriptedState {
  /** Numbers of all steps up to this one. */
  readonly made: readonly number[];
}

export interface ScriptedResearchOptions {
  /** Called before each step; its rejection fails the step. */
  readonly before?: (step: number, context: ResearchContext) => Promise<unknown>;
  readonly check?: ResearchPipeline['checkRequest'];
}

export interface ScriptedResearch extends ResearchPipeline {
  /** Numbers of all started steps, in order, of all runs. */
  readonly startedSteps: number[];
  readonly contexts: ResearchContext[];
}

/** A pipeline whose events contain the numbers of all earlier steps, so that a repeated or skipped step is noticed. */
export function createScriptedResearch({ before, check }: ScriptedResearchOptions = {}): ScriptedResearch {
  const startedSteps: number[] = [];
  const contexts: ResearchContext[] = [];
  return {
    startedSteps,
    contexts,
    clarify: () => Promise.reject(new Error('the scripted research does not clarify')),
    checkRequest: check ?? (() => Promise.resolve()),
    async *run(_request, past, context) {
      contexts.push(context);
      const steps = [...past];
      while (steps.length < SCRIPTED_STEPS) {
        startedSteps.push(steps.length);
        await before?.(steps.length, context);
        if (context.signal.aborted) throw ServiceError.from(context.signal.reason);
        const step = createScriptedStep(steps);
        steps.push(step);
        yield step;
      }
    },
  };
}

/** Creates the step that follows the given ones. */
export function createScriptedStep(past: readonly ResearchStep[]): ResearchStep {
  const number = past.length;
  const last = past.at(-1)?.state as ScriptedState | undefined;
  const made = [...(last?.made ?? []), number];
  const usage: ResearchEvent = { type: 'usage', inputTokens: 100 * made.length, outputTokens: 10 * made.length };
  return { events: [usage, ...(eventsOfSteps(made)[number] ?? assert.fail(`there is no step ${number}`))], state: { made } };
}

const eventsOfSteps = (made: readonly number[]): readonly (readonly ResearchEvent[])[] => [
  [{ type: 'plan', text: `Look it up. ${made.join()}` }, { type: 'plan-end' }],
  queryEvents(1, made),
  queryEvents(2, made),
  [{ type: 'report', text: `# Swifts ${made.join()}\n` }],
  [{ type: 'report', text: `They sleep on the wing. [[1]] ${made.join()}`, references: [REFERENCE] }],
  [{ type: 'end', reason: 'stop' }],
];

const queryEvents = (id: number, made: readonly number[]): readonly ResearchEvent[] => [
  { type: 'query', id, query: `swifts ${id}`, goal: made.join() },
  { type: 'sites', id, sites: [{ number: id, ...SITE }] },
  { type: 'learned', id, site: 1, text: 'Swifts sleep on the wing.' },
  { type: 'query-end', id },
];

const SITE = { title: 'Swifts', description: '', url: 'https://birds.example/swifts', icon: '' };
const REFERENCE = { index: 1, ...SITE };

/** Returns the events of the first steps; by default of all. */
export function getAllEvents(count = SCRIPTED_STEPS): readonly ResearchEvent[] {
  const steps: ResearchStep[] = [];
  while (steps.length < count) steps.push(createScriptedStep(steps));
  return steps.flatMap(({ events }) => events);
}
