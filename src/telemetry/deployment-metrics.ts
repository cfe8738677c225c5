import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';
import { DEPLOYMENT_SERIES_MAX } from '../core/limits.ts';
import type { DeploymentName, RequestMeasure } from '../core/telemetry.ts';

/** Requests of deployments, by deployment: only those that exist have series, and not more of them than there may be. */
export interface DeploymentMetrics {
  requestEnded(deployment: DeploymentName, measure: RequestMeasure): void;
  /** A request was admitted, and waits or is answered; call what comes back when it is over. */
  runStarted(deployment: DeploymentName): () => void;
  /** It is there no longer: a later one of its name begins at 0. */
  forget(deployment: DeploymentName): void;
}

const NAME = ['region', 'workspace', 'deployment'] as const;
type Labels = Readonly<Record<string, string>>;

export function createDeploymentMetrics(
  registers: Registry[],
  {
    firstByteBuckets,
    isThere = () => true,
    seriesMax = DEPLOYMENT_SERIES_MAX,
  }: {
    readonly firstByteBuckets: number[];
    /** What goes on when its deployment is gone would make series that nobody removes. */
    readonly isThere?: ((deployment: DeploymentName) => boolean) | undefined;
    readonly seriesMax?: number;
  },
): DeploymentMetrics {
  const requests = new Counter({
    name: 'parley_deployment_requests_total',
    help: 'Finished requests of deployments by HTTP status and error kind (none: no error).',
    labelNames: [...NAME, 'status', 'kind'],
    registers,
  });
  const firstByte = new Histogram({
    name: 'parley_deployment_first_byte_seconds',
    help: 'Arrival of a request of a deployment to the first byte of its answer.',
    labelNames: [...NAME],
    buckets: firstByteBuckets,
    registers,
  });
  const tokens = new Counter({
    name: 'parley_deployment_tokens_total',
    help: 'Tokens of requests of deployments by direction (prompt, cached as a part of prompt, completion).',
    labelNames: [...NAME, 'direction'],
    registers,
  });
  const running = new Gauge({
    name: 'parley_deployment_requests_in_flight',
    help: 'Requests of a deployment that wait for its engine or are answered now.',
    labelNames: [...NAME],
    registers,
  });
  /** By what removes each series of a deployment. */
  const series = new Map<string, Map<string, () => void>>();

  const labelsOf = (deployment: DeploymentName): Labels => {
    const { region, workspace, name } = deployment;
    const key = keyOf(deployment);
    if (!series.has(key) && series.size >= seriesMax)
      return { region: 'other', workspace: 'other', deployment: 'other' };
    if (!series.has(key)) series.set(key, new Map());
    return { region, workspace, deployment: name };
  };

  return {
    requestEnded(deployment, measure) {
      if (!isThere(deployment)) return;
      const name = labelsOf(deployment);
      const known = series.get(keyOf(deployment));
      const count = (counter: Counter, more: Labels, value: number): void => {
        const labels = { ...name, ...more };
        counter.inc(labels, value);
        known?.set(Object.values(more).join(' '), () => counter.remove(labels));
      };
      count(requests, { status: String(measure.status), kind: measure.kind }, 1);
      if (measure.promptTokens) count(tokens, { direction: 'prompt' }, measure.promptTokens);
      if (measure.cachedTokens) count(tokens, { direction: 'cached' }, measure.cachedTokens);
      if (measure.completionTokens) count(tokens, { direction: 'completion' }, measure.completionTokens);
      if (measure.firstByteMs === undefined) return;
      firstByte.observe(name, measure.firstByteMs / 1000);
      known?.set('first byte', () => firstByte.remove(name));
    },
    runStarted(deployment) {
      if (!isThere(deployment)) return () => undefined;
      const key = keyOf(deployment);
      const labels = labelsOf(deployment);
      const known = series.get(key);
      running.inc(labels);
      known?.set('running', () => running.remove(labels));
      return () => {
        // What was forgotten meanwhile has no series any more, or another one.
        if (series.get(key) === known || !known) running.dec(labels);
      };
    },
    forget(deployment) {
      const key = keyOf(deployment);
      for (const remove of series.get(key)?.values() ?? []) remove();
      series.delete(key);
    },
  };
}

const keyOf = ({ region, workspace, name }: DeploymentName): string => `${region}/${workspace}/${name}`;
