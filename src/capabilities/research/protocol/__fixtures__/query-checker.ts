import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

const address = z.string().regex(/^(?:https?:\/\/|parley-index:)/);
const icon = z.string().regex(/^(?:https?:\/\/.*)?$/);

const Site = z.strictObject({ title: z.string(), description: z.string(), url: address, icon, favicon: icon });

const Query = z.strictObject({
  researchGoal: z.string(),
  id: z.int().min(1),
  query: z.string(),
  webSites: z.array(Site).optional(),
  learningMap: z.record(z.string().regex(/^[1-9]\d*$/), z.string()).optional(),
});

const STAGES = ['streamingQueries', 'streamingWebResult', 'WebResultFinished'];

interface QueryState {
  stage: number;
  query: string;
  goal: string;
}

export interface QueryChecker {
  /** Returns the faults of one event of the phase. */
  check(status: string, found: object): string[];
  /** Ids of queries that have not ended. */
  listUnfinished(): number[];
}

/** Checks each query from its text through its findings to its end; queries may run in parallel. */
export function createQueryChecker(): QueryChecker {
  const queries = new Map<number, QueryState>();

  const checkStage = (stage: number, { webSites, learningMap, query, researchGoal }: z.output<typeof Query>): string[] => {
    const hasQueryText = query !== '' || researchGoal !== '';
    const hasFindings = webSites !== undefined || learningMap !== undefined;
    if (stage === 0) return hasFindings ? ['a query has findings before it is searched for'] : [];
    if (hasQueryText) return ['a query has text after its first stage'];
    if (stage === 1) return hasFindings ? [] : ['a web result has neither sites nor learned text'];
    return hasFindings ? ['the end of a query has findings'] : [];
  };

  return {
    check(status, deepResearch) {
      const { query, research, ...rest } = { query: undefined, research: undefined, ...deepResearch };
      if (Object.keys(rest).length > 0) return [`a query has ${Object.keys(rest).join(', ')} beside it`];
      if (!isDeepStrictEqual(query, research)) return ['query and research differ'];
      const parsed = Query.safeParse(query);
      if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
      const stage = STAGES.indexOf(status);
      if (stage < 0) return [`a query's status is ${status}`];
      const { id } = parsed.data;
      const faults: string[] = [];
      const known = queries.get(id);
      if (!known && id !== queries.size + 1) faults.push(`query ${id} comes after ${queries.size}`);
      const state = known ?? { stage: 0, query: '', goal: '' };
      queries.set(id, state);
      if (stage < state.stage) faults.push(`query ${id} goes back to ${status}`);
      if (state.stage === STAGES.length - 1) faults.push(`query ${id} continues after its end`);
      state.stage = stage;
      state.query += parsed.data.query;
      state.goal += parsed.data.researchGoal;
      if (stage > 0 && state.query === '') faults.push(`query ${id} has no text`);
      for (const { icon: siteIcon, favicon } of parsed.data.webSites ?? [])
        if (siteIcon !== favicon) faults.push('icon and favicon differ');
      return [...faults, ...checkStage(stage, parsed.data)];
    },
    listUnfinished: () => [...queries].filter(([, { stage }]) => stage < STAGES.length - 1).map(([id]) => id),
  };
}
