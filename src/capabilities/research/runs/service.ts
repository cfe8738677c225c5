import type { Owner } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { IdGenerator } from '../../../core/id.ts';
import { RESEARCH_UNATTENDED_MS_MAX } from './limits.ts';
import type { ResearchPipeline, ResearchRequest, ResearchRuns } from '../research.ts';
import type { Clock } from '../../../lib/clock.ts';
import { startInterval as startSystemInterval, type StartInterval } from '../../../lib/start-interval.ts';
import type { Store, Tables } from '../../../store/store.ts';
import type { JobNotifier } from '../../../resources/jobs/job-notifier.ts';
import { createJob } from '../../../resources/jobs/create-job.ts';
import type { RunNotifier } from '../../../resources/responses/run-notifier.ts';
import { tailResearch } from './tail-research.ts';

export interface ResearchRunsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly research: Pick<ResearchPipeline, 'checkRequest'>;
  /** Reports stored steps of runs that this process executes. */
  readonly notifier: Pick<RunNotifier, 'subscribe'>;
  readonly jobNotifier: Pick<JobNotifier, 'notify'>;
  /** Limits on runs that have not ended. */
  readonly limits: { readonly runsPerKey: number; readonly runsPerWorkspace: number };
  readonly startInterval?: StartInterval;
}

/** Before batches, because a client waits for the run. */
const JOB_PRIORITY = 1;

export function createResearchRuns(deps: ResearchRunsDeps): ResearchRuns {
  const { store, clock, ids, research, notifier, jobNotifier, limits, startInterval = startSystemInterval } = deps;

  /** Finds a run with the same request that the owner may continue to read, and marks it as read. */
  const attach = async (tables: Tables, owner: Owner, fingerprint: string): Promise<string | undefined> => {
    const now = clock.now();
    const run = await tables.research.findByFingerprint(owner, fingerprint);
    if (!run) return undefined;
    const { id, state, isDelivered, endedAt } = run;
    const isWaitedFor = state !== 'cancelled' && !isDelivered && (endedAt ?? now) >= now - RESEARCH_UNATTENDED_MS_MAX;
    if (endedAt !== undefined && !isWaitedFor) return undefined;
    await tables.research.recordRead(id, now);
    return id;
  };

  const checkLimits = async (tables: Tables, { keyId, ...scope }: Owner): Promise<void> => {
    const { runsPerKey, runsPerWorkspace } = limits;
    if ((await tables.research.countUnfinished({ keyId })) >= runsPerKey) throw tooManyRunsError('key', runsPerKey);
    if ((await tables.research.countUnfinished(scope)) >= runsPerWorkspace)
      throw tooManyRunsError('workspace', runsPerWorkspace);
  };

  const create = async (
    tables: Tables,
    owner: Owner,
    fingerprint: string,
    body: string,
  ): Promise<string | undefined> => {
    const { region, workspace, keyId } = owner;
    const id = ids.createSortableId('research_');
    const now = clock.now();
    const isNew = await tables.research.insert({
      id,
      region,
      workspace,
      keyId,
      requestFingerprint: fingerprint,
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
    const jobRequest = { kind: 'research', subject: id, owner, payload: {}, priority: JOB_PRIORITY } as const;
    await tables.jobs.insert(createJob(jobRequest, { ids, clock }));
    return id;
  };

  const enqueue = async (owner: Owner, fingerprint: string, request: ResearchRequest): Promise<string> => {
    const body = JSON.stringify(request);
    for (;;) {
      const id = await store.transaction(async (tables) => {
        const existing = await attach(tables, owner, fingerprint);
        if (existing !== undefined) return existing;
        await checkLimits(tables, owner);
        return await create(tables, owner, fingerprint, body);
      });
      // No id means that a concurrent request has created the same run: attach to it.
      if (id !== undefined) return id;
    }
  };

  return {
    async open({ request, fingerprint }, context) {
      const { region, workspace, keyId } = context.owner;
      const owner = { region, workspace, keyId };
      let id = await store.transaction(async (tables) => {
        const existing = await attach(tables, owner, fingerprint);
        if (existing === undefined) await checkLimits(tables, owner);
        return existing;
      });
      context.log.add({ researchGoesOn: id !== undefined });
      if (id === undefined) {
        await research.checkRequest(request, context);
        id = await enqueue(owner, fingerprint, request);
        jobNotifier.notify('due');
      }
      context.log.add({ research: id });
      return tailResearch({ store, notifier, clock, startInterval }, id, context.signal);
    },
  };
}

const tooManyRunsError = (unit: 'key' | 'workspace', runsMax: number): ServiceError =>
  new ServiceError(
    'rate-limited',
    `This ${unit} has ${runsMax} deep research ${runsMax === 1 ? 'run' : 'runs'} that ${runsMax === 1 ? 'has' : 'have'} not ended: wait for one to end.`,
  );
