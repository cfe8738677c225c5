import type { BackgroundRunRecord } from '../../../store/background.ts';
import type { Store } from '../../../store/store.ts';

/** Inserts a background response with one event and its job. */
export async function insertTestRun(
  store: Store,
  run: Pick<BackgroundRunRecord, 'id' | 'region' | 'workspace' | 'createdAt'> & Partial<BackgroundRunRecord>,
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
    attemptsMax: 1,
    createdAt: run.createdAt,
    runAfter: run.createdAt,
  });
}
