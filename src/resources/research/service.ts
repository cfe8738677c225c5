import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Ids } from '../../core/id.ts';
import { RESEARCH_ATTACH_MS } from '../../core/limits.ts';
import type { Research, ResearchRequest, ResearchRuns } from '../../core/research.ts';
import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery, type Every } from '../../lib/every.ts';
import type { Store, Tables } from '../../store/store.ts';
import type { JobBell } from '../jobs/job-bell.ts';
import { newJob } from '../jobs/new-job.ts';
import type { RunBell } from '../responses/run-bell.ts';
import { tailResearch } from './tail.ts';

export interface ResearchRunsNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly research: Pick<Research, 'check'>;
  /** Of runs: whoever works at one in this process rings. */
  readonly bell: Pick<RunBell, 'listen'>;
  readonly jobBell: Pick<JobBell, 'ring'>;
  /** Runs that have not ended. */
  readonly limits: { readonly runsPerKey: number; readonly runsPerWorkspace: number };
  readonly every?: Every;
}

/** Somebody waits for it: before batches. */
const JOB_PRIORITY = 1;

export function createResearchRuns(needs: ResearchRunsNeeds): ResearchRuns {
  const { store, clock, ids, research, bell, jobBell, limits, every = systemEvery } = needs;

  /** The run that its owner may go on reading, with a sign of life. */
  const attach = async (tables: Tables, owner: Owner, likeness: string): Promise<string | undefined> => {
    const now = clock.now();
    const run = await tables.research.findLike(owner, likeness);
    if (!run) return undefined;
    const { id, state, isDelivered, endedAt } = run;
    const isWaitedFor = state !== 'cancelled' && !isDelivered && (endedAt ?? now) >= now - RESEARCH_ATTACH_MS;
    if (endedAt !== undefined && !isWaitedFor) return undefined;
    await tables.research.sign(id, now);
    return id;
  };

  const checkRoom = async (tables: Tables, { keyId, ...place }: Owner): Promise<void> => {
    const { runsPerKey, runsPerWorkspace } = limits;
    if ((await tables.research.countUnfinished({ keyId })) >= runsPerKey) throw tooMany('key', runsPerKey);
    if ((await tables.research.countUnfinished(place)) >= runsPerWorkspace)
      throw tooMany('workspace', runsPerWorkspace);
  };

  const create = async (tables: Tables, owner: Owner, likeness: string, body: string): Promise<string | undefined> => {
    const { region, workspace, keyId } = owner;
    const id = ids.sortable('research_');
    const now = clock.now();
    const isNew = await tables.research.insert({
      id,
      region,
      workspace,
      keyId,
      likeness,
      state: 'queued',
      attempt: 0,
      lastStep: -1,
      createdAt: now,
      startedAt: undefined,
      readAt: now,
      isDelivered: false,
      endedAt: undefined,
      error: undefined,
      body,
    });
    if (!isNew) return undefined;
    const wish = { kind: 'research', subject: id, owner, payload: {}, priority: JOB_PRIORITY } as const;
    await tables.jobs.insert(newJob(wish, { ids, clock }));
    return id;
  };

  const begin = async (owner: Owner, likeness: string, request: ResearchRequest): Promise<string> => {
    const body = JSON.stringify(request);
    for (;;) {
      const id = await store.transaction(async (tables) => {
        const found = await attach(tables, owner, likeness);
        if (found !== undefined) return found;
        await checkRoom(tables, owner);
        return await create(tables, owner, likeness, body);
      });
      // Otherwise the same was asked at the same moment, and has begun: it is found now.
      if (id !== undefined) return id;
    }
  };

  return {
    async open({ request, likeness }, context) {
      const { region, workspace, keyId } = context.owner;
      const owner = { region, workspace, keyId };
      let id = await store.transaction(async (tables) => {
        const found = await attach(tables, owner, likeness);
        if (found === undefined) await checkRoom(tables, owner);
        return found;
      });
      context.log.add({ researchGoesOn: id !== undefined });
      if (id === undefined) {
        await research.check(request, context);
        id = await begin(owner, likeness, request);
        jobBell.ring('due');
      }
      context.log.add({ research: id });
      return tailResearch({ store, bell, clock, every }, id, context.signal);
    },
  };
}

const tooMany = (whose: 'key' | 'workspace', most: number): ServiceError =>
  new ServiceError(
    'rate-limited',
    `This ${whose} has ${most} deep research ${most === 1 ? 'run' : 'runs'} that ${most === 1 ? 'has' : 'have'} not ended: another one begins when one of them has.`,
  );
