import type { JobProgress, JobRecord } from '../core/job.ts';

/** Encodes a job for `--json`, without its payload, which may contain user texts. */
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
  tries: job.attemptsMax,
  triesLeft: job.attemptsLeft,
  progress: job.progress ?? null,
  error: job.error ?? null,
  process: job.leaseOwner ?? null,
  createdAt: formatTime(job.createdAt),
  startedAt: formatTime(job.startedAt),
  dueAt: formatTime(job.state === 'waiting' ? job.dueAt : undefined),
  endedAt: formatTime(job.endedAt),
});

export const JOB_COLUMNS = ['ID', 'KIND', 'SUBJECT', 'STATE', 'PROGRESS', 'ATTEMPT', 'CREATED'] as const;

/** Creates a table row for JOB_COLUMNS. */
export const createJobRow = (job: JobRecord): readonly string[] => [
  job.id,
  job.kind,
  job.subject,
  formatState(job),
  formatProgress(job.progress),
  String(job.attempt),
  formatTime(job.createdAt) ?? '',
];

/** Creates the name-value rows of `parley jobs show`. */
export function createJobDetails(job: JobRecord): readonly (readonly [string, string])[] {
  const { region, workspace, keyId } = job.owner;
  const dueAt = job.state === 'waiting' ? job.dueAt : undefined;
  const details: [string, string | null | undefined][] = [
    ['job', job.id],
    ['kind', job.kind],
    ['subject', job.subject],
    ['owner', `${workspace} in ${region}, key ${keyId}`],
    ['state', formatState(job)],
    ['progress', formatProgress(job.progress)],
    ['attempt', `${job.attempt}, ${Math.max(0, job.attemptsLeft)} of ${job.attemptsMax} attempts left`],
    ['process', job.leaseOwner],
    ['last error', job.error],
    ['created', formatTime(job.createdAt)],
    ['first started', formatTime(job.startedAt)],
    ['next attempt', formatTime(dueAt)],
    ['ended', formatTime(job.endedAt)],
  ];
  return details.flatMap(([name, value]) => (value ? [[name, value] as const] : []));
}

/** Formats the state. A job that is canceled but has not ended yet is, e.g., `running, being cancelled`. */
const formatState = ({ state, isCancelled, endedAt }: JobRecord): string =>
  isCancelled && endedAt === undefined ? `${state}, being cancelled` : state;

/** Formats the progress, e.g. `12 of 100 (12 %), in_progress`. */
function formatProgress(progress: JobProgress | undefined): string {
  if (!progress) return '';
  const { done, total, step } = progress;
  const count = total ? `${done} of ${total} (${Math.floor((100 * done) / total)} %)` : String(done);
  return step === undefined ? count : `${count}, ${step}`;
}

function formatTime(ms: number): string;
function formatTime(ms: number | undefined): string | null;
function formatTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
