import { setImmediate as turnOfOthers } from 'node:timers/promises';
import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Research, ResearchBudget, ResearchContext, ResearchRequest, ResearchStep } from '../../core/research.ts';
import { RESEARCH_PLAN_QUERIES_MAX } from '../../core/limits.ts';
import type { ReadPage, Search } from '../../core/server-tools.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Generate } from '../generation.ts';
import type { Examine } from '../server-tools/examine.ts';
import type { Tokenize } from '../tokenize.ts';
import { summedLog } from '../translation/summed-log.ts';
import { clarify } from './clarify.ts';
import { createCountTokens } from './count-tokens.ts';
import type { CountTokens } from './count-tokens.ts';
import { gatherQuery } from './gather-query.ts';
import { keptOf, NOTHING_SPENT } from './kept.ts';
import type { Kept } from './kept.ts';
import { makePlan } from './make-plan.ts';
import { createAskModel, requestOf } from './model-run.ts';
import type { AskModel } from './model-run.ts';
import { nextQuery } from './next-query.ts';
import { ownPlan } from './own-plan.ts';
import { createRememberedPages } from './remembered-pages.ts';
import { endReport, nextParagraph, openReport } from './report-step.ts';
import { after, BEGINNING } from './state.ts';
import type { ResearchState } from './state.ts';
import { topicOf } from './topic.ts';
import type { Topic } from './topic.ts';

/** Who writes: the model, held to its sources; or nobody, and the report is made of sentences of the sources. */
export type ResearchWriter = 'model' | 'extractive';

export interface ResearchNeeds {
  readonly generate: Generate;
  readonly examine: Examine;
  readonly tokenize: Tokenize;
  readonly search: Search;
  readonly readPage: ReadPage;
  readonly clock: Pick<Clock, 'now'>;
  readonly budget: ResearchBudget;
  readonly writer: ResearchWriter;
}

const MINUTE_MS = 60_000;

/** Ours: of the minutes of a run, those in which a plan is waited for. Beyond: it is made of what came, and of the user's words. */
const PLAN_SHARE = 0.25;

/**
 * Deep research over the one pipeline, search and pages. A run is the fold of its steps: what is done next follows from what
 * earlier steps have kept, so that a run that was cut off goes on where it was.
 */
export function createResearch(needs: ResearchNeeds): Research {
  const { generate, examine, tokenize, clock, budget } = needs;
  return {
    async clarify(request, context) {
      return await clarify(request, generate, withSummedLog(context));
    },

    async check({ model, messages }, context) {
      topicOf(messages);
      await examine(requestOf(model, { messages, temperature: 0 }), { interface: 'research' }, context);
    },

    async *run(request, past, context) {
      const own = { ...context, ...withSummedLog(context) };
      let state = past.reduce((folded, step) => after(folded, keptOf(step)), BEGINNING);
      const minutes = (): number => (clock.now() - context.startedAt) / MINUTE_MS;
      const work: Work = {
        needs: { ...needs, readPage: createRememberedPages(needs.readPage) },
        request,
        topic: topicOf(request.messages),
        ask: createAskModel(generate, request.model, () => {
          const share = state.plan ? 1 : PLAN_SHARE;
          return (share * budget.minutes - minutes()) * MINUTE_MS;
        }),
        count: createCountTokens(tokenize, request.model),
        minutes,
      };
      try {
        while (!state.isEnded) {
          context.signal.throwIfAborted();
          const step = await nextStep(state, work, own);
          // Counted also where whoever takes it asks for no other.
          state = after(state, keptOf(step));
          yield step;
          // Without a model that is waited for, steps are work from end to end: what is told of one goes out before the next.
          await turnOfOthers();
        }
      } finally {
        logSpent(state, { budget, minutes: minutes() }, context);
      }
    },
  };
}

const withSummedLog = (context: RequestContext): RequestContext => ({ ...context, log: summedLog(context.log) });

/** What all steps of one run share. */
interface Work {
  readonly needs: ResearchNeeds;
  readonly request: ResearchRequest;
  readonly topic: Topic;
  readonly ask: AskModel;
  readonly count: CountTokens;
  readonly minutes: () => number;
}

async function nextStep(state: ResearchState, work: Work, context: ResearchContext): Promise<ResearchStep> {
  const { needs, request, topic, ask, count, minutes } = work;
  const { budget, writer } = needs;
  const size = request.reportSize;
  const mayAsk = !isSpent(state, budget) && minutes() < budget.minutes;
  if (!state.plan) return await planStep(work, mayAsk ? ask : undefined, context);
  const place = {
    state,
    size,
    language: topic.language,
    count,
    ask: mayAsk && writer === 'model' ? ask : undefined,
    isOutOfPages: state.pages.size >= budget.pages,
  };
  if (state.searchEnd === undefined) {
    const nextOf = (at: ResearchState): ReturnType<typeof nextQuery> =>
      nextQuery({ state: at, topic, size, budget, minutes: minutes() });
    const next = nextOf(state);
    if (typeof next === 'object') {
      const step = await gatherQuery(state, next, needs, context);
      const reached = after(state, keptOf(step));
      // What nobody was asked about is no report that found nothing; who tries again asks the last query once more.
      if (reached.queries.every(({ isFailed }) => isFailed) && typeof nextOf(reached) !== 'object')
        throw noneAnswered(reached.queries.length);
      return step;
    }
    return await openReport(place, next, context);
  }
  return (await nextParagraph(place, context)) ?? endReport(place);
}

async function planStep(
  { needs, request, topic }: Work,
  ask: AskModel | undefined,
  context: ResearchContext,
): Promise<ResearchStep> {
  const sections = Math.max(1, Math.min(needs.budget.queries, RESEARCH_PLAN_QUERIES_MAX[request.reportSize]));
  const models = ask && (await makePlan(topic, sections, ask, context).catch(unlessLate(context)));
  const { plan, spent } = models ?? { plan: ownPlan(topic, sections), spent: NOTHING_SPENT };
  assert(plan.sections.length > 0, 'a plan has a section: the topic itself');
  const lines = plan.sections.map(
    ({ heading, goal }, at) => `${at + 1}. ${heading}${goal === '' ? '' : `: ${goal}`}\n`,
  );
  const keep: Kept = { type: 'plan', plan, spent };
  return {
    tell: [
      { type: 'usage', ...spent },
      ...[`${plan.title}\n`, ...lines].map((text) => ({ type: 'plan', text }) as const),
      { type: 'plan-end' },
    ],
    keep,
  };
}

/** A plan that nobody may wait for any longer is made of the user's words. */
const unlessLate =
  ({ signal }: RequestContext) =>
  (error: unknown): undefined => {
    if (signal.aborted || ServiceError.from(error).kind !== 'timeout') throw error;
    return undefined;
  };

const noneAnswered = (searches: number): ServiceError =>
  new ServiceError(
    'upstream-failed',
    `None of the ${searches} searches of this research was answered. Please try again later.`,
  );

const isSpent = ({ spent }: ResearchState, { tokens }: ResearchBudget): boolean =>
  spent.inputTokens + spent.outputTokens >= tokens;

function logSpent(
  state: ResearchState,
  { budget, minutes }: { readonly budget: ResearchBudget; readonly minutes: number },
  { log }: RequestContext,
): void {
  const ended = [
    ...(state.searchEnd === 'queries' ? ['queries'] : []),
    ...(state.pages.size >= budget.pages ? ['pages'] : []),
    ...(isSpent(state, budget) ? ['tokens'] : []),
    ...(state.searchEnd === 'minutes' || minutes >= budget.minutes ? ['minutes'] : []),
  ];
  log.add({
    researchQueries: state.queries.length,
    researchPages: state.pages.size,
    researchTokens: state.spent.inputTokens + state.spent.outputTokens,
    researchSeconds: Math.round(minutes * 60),
    researchReportTokens: state.tokens,
    ...(ended.length > 0 ? { researchBudgetsEnded: ended.join(',') } : {}),
  });
}
