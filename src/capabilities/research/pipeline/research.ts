import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { ResearchPipeline, ResearchBudget, ResearchContext, ResearchRequest, ResearchStep } from '../research.ts';
import { RESEARCH_PLAN_QUERIES_MAX } from './limits.ts';
import type { ScoreRelevance } from '../../../core/relevance.ts';
import type { ReadPage, Search } from '../../../core/server-tools.ts';
import { assert } from '../../../lib/assert.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Generate } from '../../../generation/generation.ts';
import type { ExamineRequest } from '../../../generation/server-tools/examine-request.ts';
import type { Tokenize } from '../../../generation/tokenize.ts';
import { createSummingLog } from '../../../generation/translation/summing-log.ts';
import { askClarifyingQuestion } from './clarify.ts';
import { createTokenCounter } from './token-counter.ts';
import type { TokenCounter } from './token-counter.ts';
import { gatherQuery } from './gather-query.ts';
import { parseStepRecord, NO_TOKEN_USAGE } from './step-record.ts';
import type { StepRecord } from './step-record.ts';
import { makePlan } from './make-plan.ts';
import { createRunModel, createGenerationRequest } from './run-model.ts';
import type { RunModel } from './run-model.ts';
import { chooseNextQuery } from './choose-next-query.ts';
import { createFallbackPlan } from './fallback-plan.ts';
import { createCachedPageReader } from './cached-page-reader.ts';
import { finishReport, createNextParagraph, startReport } from './report-steps.ts';
import { applyStep, INITIAL_STATE } from './state.ts';
import type { ResearchState } from './state.ts';
import { parseTopic } from './topic.ts';
import type { Topic } from './topic.ts';

/** `model`: the model writes paragraphs, checked against their sources. `extractive`: the report quotes its sources. */
export type ResearchWriter = 'model' | 'extractive';

export interface ResearchDeps {
  readonly generate: Generate;
  readonly examine: ExamineRequest;
  readonly tokenize: Tokenize;
  readonly search: Search;
  readonly readPage: ReadPage;
  /** Compares statements with the question by a model. Absent: words decide. */
  readonly scoreRelevance?: ScoreRelevance;
  readonly clock: Pick<Clock, 'now'>;
  readonly budget: ResearchBudget;
  readonly writer: ResearchWriter;
}

const MINUTE_MS = 60_000;

/** Share of a run's minutes for the plan. After that, the plan consists of the received part and the user's words. */
const PLAN_TIME_SHARE = 0.25;

/**
 * Creates the research pipeline from generation, search and page reading. The state of a run is a fold over its stored
 * steps, so an interrupted run continues where it stopped.
 */
export function createResearch(deps: ResearchDeps): ResearchPipeline {
  const { generate, examine, tokenize, clock, budget } = deps;
  return {
    async clarify(request, context) {
      return await askClarifyingQuestion(request, generate, withSummingLog(context));
    },

    async checkRequest({ model, messages }, context) {
      parseTopic(messages);
      await examine(createGenerationRequest(model, { messages, temperature: 0 }), { interface: 'research' }, context);
    },

    async *run(request, past, context) {
      const runContext = { ...context, ...withSummingLog(context) };
      let state = past.reduce((current, step) => applyStep(current, parseStepRecord(step)), INITIAL_STATE);
      const getMinutes = (): number => (clock.now() - context.startedAt) / MINUTE_MS;
      const run: RunContext = {
        deps: { ...deps, readPage: createCachedPageReader(deps.readPage) },
        request,
        topic: parseTopic(request.messages),
        runModel: createRunModel(generate, request.model, () => {
          const share = state.plan ? 1 : PLAN_TIME_SHARE;
          return (share * budget.minutes - getMinutes()) * MINUTE_MS;
        }),
        countTokens: createTokenCounter(tokenize, request.model),
        getMinutes,
      };
      try {
        while (!state.isFinished) {
          context.signal.throwIfAborted();
          const step = await runNextStep(state, run, runContext);
          // Applied before the yield: the caller may not request another step, and the log must include this one.
          state = applyStep(state, parseStepRecord(step));
          yield step;
          // Steps without a model call are synchronous; the yield lets the events of this step be sent first.
          await yieldToEventLoop();
        }
      } finally {
        logUsage(state, { budget, minutes: getMinutes() }, context);
      }
    },
  };
}

const withSummingLog = (context: RequestContext): RequestContext => ({
  ...context,
  log: createSummingLog(context.log),
});

/** Collaborators and settings that all steps of one run share. */
interface RunContext {
  readonly deps: ResearchDeps;
  readonly request: ResearchRequest;
  readonly topic: Topic;
  readonly runModel: RunModel;
  readonly countTokens: TokenCounter;
  readonly getMinutes: () => number;
}

async function runNextStep(state: ResearchState, run: RunContext, context: ResearchContext): Promise<ResearchStep> {
  const { deps, request, topic, runModel, countTokens, getMinutes } = run;
  const { budget, writer } = deps;
  const size = request.reportSize;
  const canRunModel = !isTokenBudgetUsed(state, budget) && getMinutes() < budget.minutes;
  if (!state.plan) return await createPlanStep(run, canRunModel ? runModel : undefined, context);
  const report = {
    state,
    size,
    topic,
    countTokens,
    runModel: canRunModel && writer === 'model' ? runModel : undefined,
    isOutOfPages: state.pages.size >= budget.pages,
  };
  if (state.searchEndReason === undefined) {
    const chooseNext = (current: ResearchState): ReturnType<typeof chooseNextQuery> =>
      chooseNextQuery({ state: current, topic, size, budget, minutes: getMinutes() });
    const next = chooseNext(state);
    if (typeof next === 'object') {
      const step = await gatherQuery(state, next, deps, context);
      const nextState = applyStep(state, parseStepRecord(step));
      // When all searches failed, the run fails instead of reporting that nothing exists. A retry repeats the last
      // query.
      if (nextState.queries.every(({ isFailed }) => isFailed) && typeof chooseNext(nextState) !== 'object')
        throw createSearchFailedError(nextState.queries.length);
      return step;
    }
    return await startReport(report, next, context);
  }
  return (await createNextParagraph(report, context)) ?? finishReport(report);
}

async function createPlanStep(
  { deps, request, topic }: RunContext,
  runModel: RunModel | undefined,
  context: ResearchContext,
): Promise<ResearchStep> {
  const sections = Math.max(1, Math.min(deps.budget.queries, RESEARCH_PLAN_QUERIES_MAX[request.reportSize]));
  const modelPlan = runModel && (await makePlan(topic, sections, runModel, context).catch(ignoreTimeout(context)));
  const { plan, usage } = modelPlan ?? { plan: createFallbackPlan(topic, sections), usage: NO_TOKEN_USAGE };
  assert(plan.sections.length > 0, 'a plan has a section: the topic itself');
  const lines = plan.sections.map(
    ({ heading, goal }, at) => `${at + 1}. ${heading}${goal === '' ? '' : `: ${goal}`}\n`,
  );
  const record: StepRecord = { type: 'plan', plan, spent: usage };
  return {
    events: [
      { type: 'usage', ...usage },
      ...[`${plan.title}\n`, ...lines].map((text) => ({ type: 'plan', text }) as const),
      { type: 'plan-end' },
    ],
    state: record,
  };
}

/** Maps a timeout to undefined: the plan then comes from the user's words. */
const ignoreTimeout =
  ({ signal }: RequestContext) =>
  (error: unknown): undefined => {
    if (signal.aborted || ServiceError.from(error).kind !== 'timeout') throw error;
    return undefined;
  };

const createSearchFailedError = (searches: number): ServiceError =>
  new ServiceError(
    'upstream-failed',
    `None of the ${searches} searches of this research succeeded. Please try again later.`,
  );

const isTokenBudgetUsed = ({ usage }: ResearchState, { tokens }: ResearchBudget): boolean =>
  usage.inputTokens + usage.outputTokens >= tokens;

function logUsage(
  state: ResearchState,
  { budget, minutes }: { readonly budget: ResearchBudget; readonly minutes: number },
  { log }: RequestContext,
): void {
  const usedUp = [
    ...(state.searchEndReason === 'queries' ? ['queries'] : []),
    ...(state.pages.size >= budget.pages ? ['pages'] : []),
    ...(isTokenBudgetUsed(state, budget) ? ['tokens'] : []),
    ...(state.searchEndReason === 'minutes' || minutes >= budget.minutes ? ['minutes'] : []),
  ];
  log.add({
    researchQueries: state.queries.length,
    researchPages: state.pages.size,
    researchTokens: state.usage.inputTokens + state.usage.outputTokens,
    researchSeconds: Math.round(minutes * 60),
    researchReportTokens: state.tokens,
    ...(usedUp.length > 0 ? { researchBudgetsEnded: usedUp.join(',') } : {}),
  });
}
