import type { RunRecord } from '../../../store/background.ts';
import type { Store } from '../../../store/store.ts';

/** Puts a response that nobody waits for into the store, with an event and its job. */
export async function storeRun(
  store: Store,
  run: Pick<RunRecord, 'id' | 'region' | 'workspace' | 'createdAt'> & Partial<RunRecord>,
): Promise<void> {
  const keyId = 'key_1';
  await store.background.insert({
    keyId,
    state: 'queued',
    attempt: 0,
    isStreamed: true,
    lastSequence: 0,
    eventChars: 1,
    eventsUntil: undefined,
    conversation: undefined,
    previous: undefined,
    endedAt: undefined,
    json: `{"id":"${run.id}"}`,
    body: '{}',
    ...run,
  });
  await store.responseEvents.insert(run.id, { first: 0, texts: ['a'] });
  const { region, workspace } = run;
  await store.jobs.insert({
    id: `job_${run.id}`,
    kind: 'response',
    subject: run.id,
    owner: { region, workspace, keyId },
    payload: {},
    priority: 1,
    tries: 1,
    createdAt: run.createdAt,
    runAfter: run.createdAt,
  });
}
