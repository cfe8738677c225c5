import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DeploymentName, Meter } from '../core/telemetry.ts';
import { createDeploymentMetrics } from './deployment-metrics.ts';

/** Seconds; from a list call to a long stream. */
const DURATION_BUCKETS = [0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600];

/** Seconds; up to the longest wait in a queue. */
const FIRST_BYTE_BUCKETS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60];

/** What a meter has counted, as plain JSON: sums of several processes are made of it. */
export type MeterReading = readonly object[];

export interface ReadableMeter extends Meter {
  read(): Promise<MeterReading>;
  deploymentRunStarted(deployment: DeploymentName): () => void;
  /** A deployment is there no longer, and neither is what was counted of it. */
  forgetDeployment(deployment: DeploymentName): void;
}

/**
 * Metrics in a registry of their own, so that two services can live in one process.
 *
 * @param operations The closed set of `operation` labels; whatever else is measured counts as `other`, so that no caller
 *   can make new series.
 * @param isDeployed Whether there is such a deployment now: of one that is gone nothing is counted. Absent: there is.
 */
export function createMeter({
  operations,
  isDeployed,
}: {
  readonly operations: readonly string[];
  readonly isDeployed?: (deployment: DeploymentName) => boolean;
}): ReadableMeter {
  const known = new Set(operations);
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: 'parley_requests_total',
    help: 'Finished requests by operation, HTTP status and error kind (none: no error).',
    labelNames: ['operation', 'status', 'kind'],
    registers,
  });
  const duration = new Histogram({
    name: 'parley_request_duration_seconds',
    help: 'Arrival of a request to the end of its answer.',
    labelNames: ['operation'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const firstByte = new Histogram({
    name: 'parley_first_byte_seconds',
    help: 'Arrival of a request to the first byte of its answer.',
    labelNames: ['operation'],
    buckets: FIRST_BYTE_BUCKETS,
    registers,
  });
  const tokens = new Counter({
    name: 'parley_tokens_total',
    help: 'Tokens by operation and direction (prompt, cached as a part of prompt, completion).',
    labelNames: ['operation', 'direction'],
    registers,
  });
  const streams = new Gauge({ name: 'parley_streams_in_flight', help: 'Streams being answered now.', registers });
  const sockets = new Gauge({ name: 'parley_sockets_open', help: 'Websockets that are open now.', registers });
  const recognitionsRunning = new Gauge({
    name: 'parley_recognitions_running',
    help: 'Recognitions on websockets that run now.',
    registers,
  });
  const recognitions = new Counter({
    name: 'parley_recognitions_total',
    help: 'Recognitions on websockets that ended, by error kind (none: no error; cancelled: the caller left).',
    labelNames: ['kind'],
    registers,
  });
  const jobsRunning = new Gauge({
    name: 'parley_jobs_running',
    help: 'Jobs that are worked at now, by kind.',
    labelNames: ['kind'],
    registers,
  });
  const attempts = new Counter({
    name: 'parley_job_attempts_total',
    help: 'Attempts at jobs that ended, by kind and by what became of the job (waiting: for its next turn; lost: to another process).',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const deployments = createDeploymentMetrics(registers, {
    firstByteBuckets: FIRST_BYTE_BUCKETS,
    isThere: isDeployed,
  });

  return {
    deploymentRunStarted: deployments.runStarted,
    forgetDeployment: deployments.forget,
    requestEnded(measure) {
      const operation = known.has(measure.operation) ? measure.operation : 'other';
      requests.inc({ operation, status: String(measure.status), kind: measure.kind });
      duration.observe({ operation }, measure.durationMs / 1000);
      if (measure.firstByteMs !== undefined) firstByte.observe({ operation }, measure.firstByteMs / 1000);
      if (measure.promptTokens) tokens.inc({ operation, direction: 'prompt' }, measure.promptTokens);
      if (measure.cachedTokens) tokens.inc({ operation, direction: 'cached' }, measure.cachedTokens);
      if (measure.completionTokens) tokens.inc({ operation, direction: 'completion' }, measure.completionTokens);
      if (measure.deployment) deployments.requestEnded(measure.deployment, measure);
    },
    streamOpened() {
      let isOpen = true;
      streams.inc();
      return () => {
        if (isOpen) streams.dec();
        isOpen = false;
      };
    },
    socketOpened() {
      sockets.inc();
      return () => sockets.dec();
    },
    recognitionStarted() {
      recognitionsRunning.inc();
      return (kind) => {
        recognitionsRunning.dec();
        recognitions.inc({ kind });
      };
    },
    jobStarted(kind) {
      jobsRunning.inc({ kind });
      return (outcome) => {
        jobsRunning.dec({ kind });
        attempts.inc({ kind, outcome });
      };
    },
    read: () => registry.getMetricsAsJSON(),
    async expose() {
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
