import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DamagedData, DeploymentName, Meter } from '../core/telemetry.ts';
import { addProcessMetrics, type ProcessMetricsDeps } from './process-metrics.ts';
import { createDeploymentMetrics } from './deployment-metrics.ts';

/** Seconds, from a list call to a long stream. */
const DURATION_BUCKETS = [0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600];

/** Seconds, up to the longest wait in a queue. */
const FIRST_BYTE_BUCKETS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60];

const DAMAGED_DATA: readonly DamagedData[] = ['blob', 'database'];

/** State of a meter as plain JSON, for adding up several processes. */
export type MeterSnapshot = readonly object[];

export interface ReadableMeter extends Meter {
  readSnapshot(): Promise<MeterSnapshot>;
  trackDeploymentRequest(deployment: DeploymentName): () => void;
  /** Removes all metrics of a deployment that no longer exists. */
  removeDeployment(deployment: DeploymentName): void;
}

/**
 * Creates a meter with its own registry, so that several services can run in one process.
 *
 * @param options `operations`: allowed values of the label `operation`; others count as `other`, so that callers cannot
 * create series. `isDeployed`: whether a deployment exists; requests of others are not counted. Default: always true.
 * `processMetrics`: sources of the metrics of this process. Default: none are reported.
 */
export function createMeter({
  operations,
  isDeployed,
  processMetrics,
}: {
  readonly operations: readonly string[];
  readonly isDeployed?: (deployment: DeploymentName) => boolean;
  readonly processMetrics?: ProcessMetricsDeps;
}): ReadableMeter {
  const knownOperations = new Set(operations);
  const registry = new Registry();
  const registers: [Registry] = [registry];
  const refresh = processMetrics && addProcessMetrics(registers, processMetrics);
  const requests = new Counter({
    name: 'parley_requests_total',
    help: 'Finished requests by operation, HTTP status and error kind (none: no error).',
    labelNames: ['operation', 'status', 'kind'],
    registers,
  });
  const duration = new Histogram({
    name: 'parley_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response.',
    labelNames: ['operation'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const firstByte = new Histogram({
    name: 'parley_first_byte_seconds',
    help: 'Time from the arrival of a request to the first byte of its response.',
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
  const streams = new Gauge({
    name: 'parley_streams_in_flight',
    help: 'Response streams that are open now.',
    registers,
  });
  const sockets = new Gauge({ name: 'parley_sockets_open', help: 'Websockets that are open now.', registers });
  const recognitionsRunning = new Gauge({
    name: 'parley_recognitions_running',
    help: 'Recognitions on websockets that run now.',
    registers,
  });
  const recognitions = new Counter({
    name: 'parley_recognitions_total',
    help: 'Finished recognitions on websockets, by error kind (none: no error; cancelled: the caller disconnected).',
    labelNames: ['kind'],
    registers,
  });
  const jobsRunning = new Gauge({
    name: 'parley_jobs_running',
    help: 'Jobs that run now, by kind.',
    labelNames: ['kind'],
    registers,
  });
  const attempts = new Counter({
    name: 'parley_job_attempts_total',
    help: 'Finished job attempts by kind and outcome (waiting: for the next attempt; lost: to another process).',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const weightsChecks = new Counter({
    name: 'parley_weights_checks_total',
    help: 'Checks of weights in the background by outcome (damaged: the model was stopped; changed: no hash was known).',
    labelNames: ['outcome'],
    registers,
  });
  const damages = new Counter({
    name: 'parley_damaged_data_total',
    help: 'Accesses that found stored data damaged: a blob, or the database.',
    labelNames: ['data'],
    registers,
  });
  // From the start, so that an alert sees the first increase.
  for (const data of DAMAGED_DATA) damages.inc({ data }, 0);
  const deployments = createDeploymentMetrics(registers, {
    firstByteBuckets: FIRST_BYTE_BUCKETS,
    isDeployed: isDeployed,
  });

  return {
    trackDeploymentRequest: deployments.trackRequest,
    removeDeployment: deployments.remove,
    recordRequest(measurement) {
      const operation = knownOperations.has(measurement.operation) ? measurement.operation : 'other';
      requests.inc({ operation, status: String(measurement.status), kind: measurement.kind });
      duration.observe({ operation }, measurement.durationMs / 1000);
      if (measurement.firstByteMs !== undefined) firstByte.observe({ operation }, measurement.firstByteMs / 1000);
      if (measurement.promptTokens) tokens.inc({ operation, direction: 'prompt' }, measurement.promptTokens);
      if (measurement.cachedTokens) tokens.inc({ operation, direction: 'cached' }, measurement.cachedTokens);
      if (measurement.completionTokens)
        tokens.inc({ operation, direction: 'completion' }, measurement.completionTokens);
      if (measurement.deployment) deployments.recordRequest(measurement.deployment, measurement);
    },
    trackStream() {
      let isOpen = true;
      streams.inc();
      return () => {
        if (isOpen) streams.dec();
        isOpen = false;
      };
    },
    trackSocket() {
      sockets.inc();
      return () => sockets.dec();
    },
    trackRecognition() {
      recognitionsRunning.inc();
      return (kind) => {
        recognitionsRunning.dec();
        recognitions.inc({ kind });
      };
    },
    trackJob(kind) {
      jobsRunning.inc({ kind });
      return (outcome) => {
        jobsRunning.dec({ kind });
        attempts.inc({ kind, outcome });
      };
    },
    recordWeightsCheck: (outcome) => weightsChecks.inc({ outcome }),
    recordDamage: (data) => damages.inc({ data }),
    async readSnapshot() {
      await refresh?.();
      return await registry.getMetricsAsJSON();
    },
    async renderMetrics() {
      await refresh?.();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
