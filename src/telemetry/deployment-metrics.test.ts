import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { createDeploymentMetrics } from './deployment-metrics.ts';

const OURS = { region: 'cn-beijing', workspace: 'w', name: 'm-ours' };
const MEASURE = {
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

function createRoom(more: { readonly seriesMax?: number; readonly isThere?: () => boolean } = {}) {
  const registry = new Registry();
  const metrics = createDeploymentMetrics([registry], { firstByteBuckets: [0.001, 0.01], ...more });
  const lines = async (): Promise<readonly string[]> =>
    (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return { metrics, lines };
}

test('requests, tokens and the wait for the first byte are counted by deployment', async () => {
  const { metrics, lines } = createRoom();
  metrics.requestEnded(OURS, MEASURE);
  metrics.requestEnded(OURS, { ...MEASURE, status: 429, kind: 'token-quota' });
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

test('what runs is shown while it runs', async () => {
  const { metrics, lines } = createRoom();
  const ends = [metrics.runStarted(OURS), metrics.runStarted(OURS)];
  assert.ok((await lines()).includes(`parley_deployment_requests_in_flight{${LABELS}} 2`));
  for (const end of ends) end();
  assert.ok((await lines()).includes(`parley_deployment_requests_in_flight{${LABELS}} 0`));
});

test('of one that is gone nothing is left, also when its last run ends later', async () => {
  const { metrics, lines } = createRoom();
  metrics.requestEnded(OURS, MEASURE);
  const end = metrics.runStarted(OURS);
  metrics.forget(OURS);
  end();
  assert.deepEqual(await lines(), []);
  const endOfNext = metrics.runStarted(OURS);
  end();
  assert.ok((await lines()).includes(`parley_deployment_requests_in_flight{${LABELS}} 1`));
  endOfNext();
});

test('what ends or begins when its deployment is gone makes no series', async () => {
  let isThere = true;
  const { metrics, lines } = createRoom({ isThere: () => isThere });
  metrics.requestEnded(OURS, MEASURE);
  const end = metrics.runStarted(OURS);
  isThere = false;
  metrics.forget(OURS);
  metrics.requestEnded(OURS, MEASURE);
  metrics.runStarted(OURS)();
  end();
  assert.deepEqual(await lines(), []);
});

test('there are no more series than there may be, however many names there are', async () => {
  const { metrics, lines } = createRoom({ seriesMax: 2 });
  for (let at = 0; at < 10; at++) {
    metrics.requestEnded({ ...OURS, name: `m-${at}` }, MEASURE);
    metrics.runStarted({ ...OURS, name: `m-${at}` })();
  }
  const all = await lines();
  const names = new Set(all.flatMap((line) => /deployment="([^"]*)"/.exec(line)?.[1] ?? []));
  assert.deepEqual([...names].toSorted(), ['m-0', 'm-1', 'other']);
  const other = 'region="other",workspace="other",deployment="other"';
  assert.ok(all.includes(`parley_deployment_requests_total{${other},status="200",kind="none"} 8`));
  assert.ok(all.includes(`parley_deployment_requests_in_flight{${other}} 0`));
});
