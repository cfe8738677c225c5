import type { JobProgress, JobRecord } from '../core/job.ts';

/** What scripts read of a job. Not its payload: that is of its kind alone, and may be what somebody wrote. */
export const encodeJob = (job: JobRecord) => ({
  id: job.id,
  kind: job.kind,
  subject: job.subject,
  region: job.owner.region,
  workspace: job.owner.workspace,
  keyId: job.owner.keyId,
  state: job.state,
  isCancelled: job.isCancelled,
  priority: job.priority,
  attempt: job.attempt,
  tries: job.tries,
  triesLeft: job.triesLeft,
  progress: job.progress ?? null,
  error: job.error ?? null,
  process: job.leaseOwner ?? null,
  createdAt: iso(job.createdAt),
  startedAt: iso(job.startedAt),
  dueAt: iso(job.state === 'waiting' ? job.dueAt : undefined),
  endedAt: iso(job.endedAt),
});

export const JOB_HEAD = ['ID', 'KIND', 'SUBJECT', 'STATE', 'PROGRESS', 'ATTEMPT', 'CREATED'] as const;

/** The cells under that head. */
export const jobRow = (job: JobRecord): readonly string[] => [
  job.id,
  job.kind,
  job.subject,
  stateOf(job),
  describeProgress(job.progress),
  String(job.attempt),
  iso(job.createdAt) ?? '',
];

/** Names and values, one pair a line. */
export function jobFacts(job: JobRecord): readonly (readonly [string, string])[] {
  const { region, workspace, keyId } = job.owner;
  const dueAt = job.state === 'waiting' ? job.dueAt : undefined;
  const facts: [string, string | null | undefined][] = [
    ['job', job.id],
    ['kind', job.kind],
    ['subject', job.subject],
    ['of', `${workspace} in ${region}, key ${keyId}`],
    ['state', stateOf(job)],
    ['progress', describeProgress(job.progress)],
    ['attempt', `${job.attempt}, ${Math.max(0, job.triesLeft)} of ${job.tries} tries left`],
    ['process', job.leaseOwner],
    ['last error', job.error],
    ['created', iso(job.createdAt)],
    ['first started', iso(job.startedAt)],
    ['next turn', iso(dueAt)],
    ['ended', iso(job.endedAt)],
  ];
  return facts.flatMap(([name, value]) => (value ? [[name, value] as const] : []));
}

/** `running, to be cancelled` while nobody has ended it. */
const stateOf = ({ state, isCancelled, endedAt }: JobRecord): string =>
  isCancelled && endedAt === undefined ? `${state}, to be cancelled` : state;

/** `12 of 100 (12 %), in_progress` */
function describeProgress(progress: JobProgress | undefined): string {
  if (!progress) return '';
  const { done, total, step } = progress;
  const counted = total ? `${done} of ${total} (${Math.floor((100 * done) / total)} %)` : String(done);
  return step === undefined ? counted : `${counted}, ${step}`;
}

function iso(ms: number): string;
function iso(ms: number | undefined): string | null;
function iso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
