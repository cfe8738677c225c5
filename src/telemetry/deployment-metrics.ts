import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { DEPLOYMENT_SERIES_MAX } from './limits.ts';
import type { DeploymentName, RequestMeasurement } from '../core/telemetry.ts';

/** Request metrics per deployment. Only existing deployments have series; their number is limited. */
export interface DeploymentMetrics {
  recordRequest(deployment: DeploymentName, measurement: RequestMeasurement): void;
  /** Counts a running or waiting request. Call the returned function once, when the request has ended. */
  trackRequest(deployment: DeploymentName): () => void;
  /** Removes all series of a deployment that no longer exists. A later deployment of that name starts at 0. */
  remove(deployment: DeploymentName): void;
}

const DEPLOYMENT_LABELS = ['region', 'workspace', 'deployment'] as const;
type Labels = Readonly<Record<string, string>>;

export function createDeploymentMetrics(
  registers: Registry[],
  {
    firstByteBuckets,
    isDeployed = () => true,
    seriesMax = DEPLOYMENT_SERIES_MAX,
  }: {
    readonly firstByteBuckets: number[];
    /** Requests may outlive their deployment. Counting them would create series that nothing removes. */
    readonly isDeployed?: ((deployment: DeploymentName) => boolean) | undefined;
    readonly seriesMax?: number;
  },
): DeploymentMetrics {
  const requests = new Counter({
    name: 'parley_deployment_requests_total',
    help: 'Finished requests of deployments by HTTP status and error kind (none: no error).',
    labelNames: [...DEPLOYMENT_LABELS, 'status', 'kind'],
    registers,
  });
  const firstByte = new Histogram({
    name: 'parley_deployment_first_byte_seconds',
    help: 'Time from the arrival of a deployment request to the first byte of its response.',
    labelNames: [...DEPLOYMENT_LABELS],
    buckets: firstByteBuckets,
    registers,
  });
  const tokens = new Counter({
    name: 'parley_deployment_tokens_total',
    help: 'Tokens of requests of deployments by direction (prompt, cached as a part of prompt, completion).',
    labelNames: [...DEPLOYMENT_LABELS, 'direction'],
    registers,
  });
  const running = new Gauge({
    name: 'parley_deployment_requests_in_flight',
    help: 'Requests of a deployment that wait for its engine or run now.',
    labelNames: [...DEPLOYMENT_LABELS],
    registers,
  });
  /** Per deployment: functions that remove its series, by series. */
  const series = new Map<string, Map<string, () => void>>();

  const getLabels = (deployment: DeploymentName): Labels => {
    const { region, workspace, name } = deployment;
    const key = createSeriesKey(deployment);
    if (!series.has(key) && series.size >= seriesMax)
      return { region: 'other', workspace: 'other', deployment: 'other' };
    if (!series.has(key)) series.set(key, new Map());
    return { region, workspace, deployment: name };
  };

  return {
    recordRequest(deployment, measurement) {
      if (!isDeployed(deployment)) return;
      const name = getLabels(deployment);
      const removers = series.get(createSeriesKey(deployment));
      const count = (counter: Counter, more: Labels, value: number): void => {
        const labels = { ...name, ...more };
        counter.inc(labels, value);
        removers?.set(Object.values(more).join(' '), () => counter.remove(labels));
      };
      count(requests, { status: String(measurement.status), kind: measurement.kind }, 1);
      if (measurement.promptTokens) count(tokens, { direction: 'prompt' }, measurement.promptTokens);
      if (measurement.cachedTokens) count(tokens, { direction: 'cached' }, measurement.cachedTokens);
      if (measurement.completionTokens) count(tokens, { direction: 'completion' }, measurement.completionTokens);
      if (measurement.firstByteMs === undefined) return;
      firstByte.observe(name, measurement.firstByteMs / 1000);
      removers?.set('first byte', () => firstByte.remove(name));
    },
    trackRequest(deployment) {
      if (!isDeployed(deployment)) return () => undefined;
      const key = createSeriesKey(deployment);
      const labels = getLabels(deployment);
      const removers = series.get(key);
      running.inc(labels);
      removers?.set('running', () => running.remove(labels));
      return () => {
        // If the deployment was removed meanwhile, its series is gone or belongs to a later deployment.
        if (series.get(key) === removers || !removers) running.dec(labels);
      };
    },
    remove(deployment) {
      const key = createSeriesKey(deployment);
      for (const remove of series.get(key)?.values() ?? []) remove();
      series.delete(key);
    },
  };
}

const createSeriesKey = ({ region, workspace, name }: DeploymentName): string => `${region}/${workspace}/${name}`;
