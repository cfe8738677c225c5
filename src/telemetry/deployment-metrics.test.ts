import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { createDeploymentMetrics } from './deployment-metrics.ts';

const DEPLOYMENT = { region: 'cn-beijing', workspace: 'w', name: 'm-ours' };
const MEASUREMENT = {
  operation: 'chat',
  status: 200,
  kind: 'none',
  durationMs: 20,
  firstByteMs: 5,
  promptTokens: 7,
  cachedTokens: 2,
  completionTokens: 3,
} as const;
const LABELS = 'region="cn-beijing",workspace="w",deployment="m-ours"';

function createTestMetrics(more: { readonly seriesMax?: number; readonly isDeployed?: () => boolean } = {}) {
  const registry = new Registry();
  const metrics = createDeploymentMetrics([registry], { firstByteBuckets: [0.001, 0.01], ...more });
  const lines = async (): Promise<readonly string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return { metrics, lines };
}

test('counts requests, tokens and first byte times per deployment', async () => {
  const { metrics, lines } = createTestMetrics();
  metrics.recordRequest(DEPLOYMENT, MEASUREMENT);
  metrics.recordRequest(DEPLOYMENT, { ...MEASUREMENT, status: 429, kind: 'token-quota' });
  const all = await lines();
  for (const line of [
    `parley_deployment_requests_total{${LABELS},status="200",kind="none"} 1`,
    `parley_deployment_requests_total{${LABELS},status="429",kind="token-quota"} 1`,
    `parley_deployment_tokens_total{${LABELS},direction="prompt"} 14`,
    `parley_deployment_tokens_total{${LABELS},direction="cached"} 4`,
    `parley_deployment_tokens_total{${LABELS},direction="completion"} 6`,
    `parley_deployment_first_byte_seconds_count{${LABELS}} 2`,
  ])
    assert.ok(all.includes(line), `${line}\n${all.join('\n')}`);
});

test('counts running requests', async () => {
  const { metrics, lines } = createTestMetrics();
  const ends = [metrics.trackRequest(DEPLOYMENT), metrics.trackRequest(DEPLOYMENT)];
  assert.ok((await lines()).includes(`parley_deployment_requests_in_flight{${LABELS}} 2`));
  for (const end of ends) end();
  assert.ok((await lines()).includes(`parley_deployment_requests_in_flight{${LABELS}} 0`));
});

test('removes all series of a deployment, also when its last request ends later', async () => {
  const { metrics, lines } = createTestMetrics();
  metrics.recordRequest(DEPLOYMENT, MEASUREMENT);
  const end = metrics.trackRequest(DEPLOYMENT);
  metrics.remove(DEPLOYMENT);
  end();
  assert.deepEqual(await lines(), []);
  const endOfNext = metrics.trackRequest(DEPLOYMENT);
  end();
  assert.ok((await lines()).includes(`parley_deployment_requests_in_flight{${LABELS}} 1`));
  endOfNext();
});

test('creates no series for a deployment that does not exist', async () => {
  let isDeployed = true;
  const { metrics, lines } = createTestMetrics({ isDeployed: () => isDeployed });
  metrics.recordRequest(DEPLOYMENT, MEASUREMENT);
  const end = metrics.trackRequest(DEPLOYMENT);
  isDeployed = false;
  metrics.remove(DEPLOYMENT);
  metrics.recordRequest(DEPLOYMENT, MEASUREMENT);
  metrics.trackRequest(DEPLOYMENT)();
  end();
  assert.deepEqual(await lines(), []);
});

test('limits the number of series, whatever number of names occurs', async () => {
  const { metrics, lines } = createTestMetrics({ seriesMax: 2 });
  for (let at = 0; at < 10; at++) {
    metrics.recordRequest({ ...DEPLOYMENT, name: `m-${at}` }, MEASUREMENT);
    metrics.trackRequest({ ...DEPLOYMENT, name: `m-${at}` })();
  }
  const all = await lines();
  const names = new Set(all.flatMap((line) => /deployment="([^"]*)"/.exec(line)?.[1] ?? []));
  assert.deepEqual([...names].toSorted(), ['m-0', 'm-1', 'other']);
  const other = 'region="other",workspace="other",deployment="other"';
  assert.ok(all.includes(`parley_deployment_requests_total{${other},status="200",kind="none"} 8`));
  assert.ok(all.includes(`parley_deployment_requests_in_flight{${other}} 0`));
});
