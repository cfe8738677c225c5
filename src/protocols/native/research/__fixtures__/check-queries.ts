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

interface QuerySoFar {
  stage: number;
  query: string;
  goal: string;
}

export interface QueriesCheck {
  /** The faults of one event of the phase. */
  take(status: string, found: object): string[];
  /** Queries that have no end yet. */
  unfinished(): number[];
}

/** Each query from its words over what was found to its end; several may go on side by side. */
export function createQueriesCheck(): QueriesCheck {
  const queries = new Map<number, QuerySoFar>();

  const checkStage = (at: number, { webSites, learningMap, query, researchGoal }: z.output<typeof Query>): string[] => {
    const isAsked = query !== '' || researchGoal !== '';
    const isFound = webSites !== undefined || learningMap !== undefined;
    if (at === 0) return isFound ? ['a query has findings before it is searched for'] : [];
    if (isAsked) return ['a query has words after its own stage'];
    if (at === 1) return isFound ? [] : ['a web result has neither sites nor what was learned'];
    return isFound ? ['the end of a query has findings'] : [];
  };

  return {
    take(status, found) {
      const { query, research, ...rest } = { query: undefined, research: undefined, ...found };
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
      const soFar = known ?? { stage: 0, query: '', goal: '' };
      queries.set(id, soFar);
      if (stage < soFar.stage) faults.push(`query ${id} goes back to ${status}`);
      if (soFar.stage === STAGES.length - 1) faults.push(`query ${id} goes on after its end`);
      soFar.stage = stage;
      soFar.query += parsed.data.query;
      soFar.goal += parsed.data.researchGoal;
      if (stage > 0 && soFar.query === '') faults.push(`query ${id} has no words`);
      for (const { icon: shown, favicon } of parsed.data.webSites ?? [])
        if (shown !== favicon) faults.push('icon and favicon differ');
      return [...faults, ...checkStage(stage, parsed.data)];
    },
    unfinished: () => [...queries].filter(([, { stage }]) => stage < STAGES.length - 1).map(([id]) => id),
  };
}
