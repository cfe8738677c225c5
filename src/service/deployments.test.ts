import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RegionId } from '../core/region.ts';
import { until } from '../../test/until.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';

type Fields = Readonly<Record<string, unknown>>;

const TIMEOUT = { timeoutMs: 20_000 };
const PATH = '/api/v1/deployments';

describe('deployment endpoints of the complete service', () => {
  const { getService, getUrl } = registerTestService({
    config: 'regions: {cn-beijing: {port: 0}, us-east-1: {port: 0}}\ndeployments: {capacityMax: 9}\n',
  });
  const keys = new Map<string, { readonly secret: string; readonly id: string }>();

  const getKey = async (region: RegionId, workspace: string) => {
    const existing = keys.get(`${region} ${workspace}`);
    if (existing) return existing;
    const { secret, record } = await getService().keys.create({ region, workspace, name: '', expiresAt: undefined });
    const key = { secret, id: record.id };
    keys.set(`${region} ${workspace}`, key);
    return key;
  };
  const createCaller =
    (region: RegionId = 'cn-beijing', workspace = 'primary') =>
    async (method: string, path = '', body?: Fields) => {
      const { secret } = await getKey(region, workspace);
      const response = await fetch(`${getUrl(region)}${PATH}${path}`, {
        method,
        headers: { authorization: `Bearer ${secret}`, ...(body ? { 'content-type': 'application/json' } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const json = (await response.json()) as Fields;
      return { status: response.status, body: json, output: (json['output'] ?? {}) as Fields };
    };
  const call = createCaller();
  const waitForStatus = (path: string, status: string) =>
    until(`${path} ${status}`, TIMEOUT, async () => {
      const { output } = await call('GET', path);
      return output['status'] === status ? output : undefined;
    });

  test('creates, lists, scales, limits and deletes a deployment', async () => {
    const created = await call('POST', '', { model_name: 'svc-plus', plan: 'mu', capacity: 1, suffix: 'life' });
    const { id } = await getKey('cn-beijing', 'primary');
    assert.deepEqual(
      [created.status, created.output['deployed_model'], created.output['status']],
      [200, 'svc-plus-life', 'PENDING'],
    );
    assert.deepEqual([created.output['creator'], created.output['workspace_id']], [id, 'primary']);
    const running = await waitForStatus('/svc-plus-life', 'RUNNING');
    assert.deepEqual([running['capacity'], running['ready_capacity']], [1, 1]);
    const listed = await call('GET', '?status=RUNNING');
    assert.deepEqual(listed.output['deployments'], [running]);
    const scaled = await call('PUT', '/svc-plus-life/scale', { capacity: 9 });
    assert.deepEqual(
      [scaled.output['status'], scaled.output['capacity'], scaled.output['ready_capacity']],
      ['UPDATING', 9, 1],
    );
    assert.equal((await waitForStatus('/svc-plus-life', 'RUNNING'))['ready_capacity'], 9);
    const limited = await call('PUT', '/svc-plus-life', { rpm_limit: 5 });
    assert.deepEqual([limited.output['status'], limited.output['rpm_limit']], ['RUNNING', 5]);
    assert.deepEqual((await call('GET', '/svc-plus-life')).output, limited.output);
    await call('PUT', '/svc-plus-life/scale', { capacity: 0 });
    assert.equal((await waitForStatus('/svc-plus-life', 'STOPPED'))['ready_capacity'], 0);
    const deleted = await call('DELETE', '/svc-plus-life');
    assert.equal(deleted.output['status'], 'DELETING');
    assert.equal((await call('PUT', '/svc-plus-life/scale', { capacity: 1 })).status, 404);
    await until('the deployment to be deleted', TIMEOUT, async () =>
      (await call('GET', '/svc-plus-life')).status === 404 ? true : undefined,
    );
  });

  test('starts and stops a deployment of reserved tokens', async () => {
    const tokens = { input_tpm: 100, output_tpm: 100, thinking_output_tpm: 100 };
    const nothing = { input_tpm: 0, output_tpm: 0, thinking_output_tpm: 0 };
    await call('POST', '', { model_name: 'svc-plus', plan: 'ptu', ptu_capacity: tokens, suffix: 'ptu' });
    assert.equal((await waitForStatus('/svc-plus-ptu', 'RUNNING'))['ready_capacity'], 1);
    const scaled = await call('PUT', '/svc-plus-ptu/scale', { ptu_capacity: nothing });
    assert.equal(scaled.output['status'], 'UPDATING');
    assert.equal((await waitForStatus('/svc-plus-ptu', 'STOPPED'))['ready_capacity'], 0);
  });

  test('answers errors with the texts of the DashScope API', async () => {
    const getRefusal = async (method: string, path: string, body?: Fields) => {
      const { status, body: error } = await call(method, path, body);
      assert.equal(typeof error['request_id'], 'string');
      return [status, error['code'], error['message']];
    };
    await call('POST', '', { model_name: 'svc-plus', capacity: 1, suffix: 'taken' });
    assert.deepEqual(await getRefusal('POST', '', { model_name: 'svc-plus', capacity: 1, suffix: 'taken' }), [
      409,
      'Conflict',
      'Deployed model svc-plus-taken already exists, please specify a suffix.',
    ]);
    assert.deepEqual(await getRefusal('POST', '', { model_name: 'nothing', capacity: 1 }), [
      404,
      'NotFound',
      'Model: nothing not found!',
    ]);
    for (const [method, path] of [
      ['GET', '/none'],
      ['GET', '/none/stream'],
      ['DELETE', '/none'],
      ['PUT', '/none/scale'],
      ['PUT', '/none/update'],
      ['PUT', '/none'],
    ] as const)
      assert.deepEqual(await getRefusal(method, path, method === 'PUT' ? { capacity: 'all' } : undefined), [
        404,
        'NotFound',
        'Model: none not found!',
      ]);
    assert.deepEqual(await getRefusal('PUT', '/svc-plus-taken/scale', { ptu_capacity: { input_tpm: 5 } }), [
      400,
      'InvalidParameter',
      'ptu_capacity has no meaning with plan cu: use capacity.',
    ]);
    for (const capacity of [10, -1, 1.5])
      assert.deepEqual(await getRefusal('PUT', '/svc-plus-taken/scale', { capacity }), [
        400,
        'InvalidParameter',
        `Invalid capacity (${capacity}), capacity must be larger than or equal to 0 and multiples of 1 and less than 10!`,
      ]);
    const [status, code, message] = await getRefusal('PUT', '/x/renew', {});
    assert.deepEqual([status, code], [400, 'UnsupportedOperation']);
    assert.match(String(message), /is not served: capacity is not bought for a period of time here/);
  });

  test('deploys text models only, also by an alias', async () => {
    const { output } = await call('GET', '/models?page_size=200');
    const names = (output['models'] as readonly Fields[]).map((each) => each['model_name']);
    assert.ok(names.includes('svc-plus') && names.includes('svc-mt-plus'), String(names));
    for (const name of ['svc-embed', 'svc-asr', 'svc-deep-research']) {
      assert.ok(!names.includes(name), name);
      const { status, body } = await call('POST', '', { model_name: name, capacity: 1 });
      assert.deepEqual([status, body['code']], [400, 'UnsupportedOperation'], name);
      assert.match(String(body['message']), new RegExp(`^Model ${name} cannot be deployed: .*Only text models can`));
    }
    const alias = await call('POST', '', { model_name: 'qwen-plus', capacity: 1, suffix: 'alias' });
    assert.deepEqual([alias.output['deployed_model'], alias.output['base_model']], ['qwen-plus-alias', 'svc-plus']);
  });

  test('keeps deployments of one name apart by workspace and region', async () => {
    const body = { model_name: 'svc-plus', capacity: 1, suffix: 'same' };
    await call('POST', '', body);
    for (const callOther of [createCaller('cn-beijing', 'other'), createCaller('us-east-1')]) {
      assert.equal((await callOther('GET', '/svc-plus-same')).status, 404);
      assert.equal((await callOther('GET')).output['total'], 0);
      assert.equal((await callOther('POST', '', body)).status, 200);
    }
  });

  test('streams a change of the status', async () => {
    await call('POST', '', { model_name: 'svc-plus', capacity: 1, suffix: 'stream' });
    const { secret } = await getKey('cn-beijing', 'primary');
    const controller = new AbortController();
    const response = await fetch(`${getUrl()}${PATH}/svc-plus-stream/stream`, {
      headers: { authorization: `Bearer ${secret}`, accept: 'text/event-stream' },
      signal: controller.signal,
    });
    assert.equal(response.status, 200);
    let text = '';
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? assert.fail()) {
      text += decoder.decode(bytes, { stream: true });
      if (text.includes('"RUNNING"')) break;
    }
    controller.abort();
    assert.match(text, /^id:1\nevent:result\n:HTTP_STATUS\/200\ndata:\{"request_id"/);
    assert.match(
      text,
      /"status":"RUNNING","model_name":"svc-plus","base_model":"svc-plus","base_capacity":1,"capacity":1,"ready_capacity":1/,
    );
  });
});
