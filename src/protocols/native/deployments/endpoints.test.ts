import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Abilities } from '../../../core/abilities.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { DeploymentRecord } from '../../../core/deployment.ts';
import { ServiceError } from '../../../core/error.ts';
import type { DeploymentChange, Deployments } from '../../../resources/deployments/deployment.ts';
import {
  callEndpoint,
  type EndpointCall,
  TEST_CONTEXT,
  TEST_REQUEST_ID,
} from '../../fields/__fixtures__/test-endpoint-call.ts';
import { createZonedTime } from '../../fields/zoned-time.ts';
import { createDeploymentEndpoints } from './endpoints.ts';

const CREATED_AT = Date.parse('2025-06-17T11:00:38.123Z');

const RECORD: DeploymentRecord = {
  id: 'dep_1',
  region: 'cn-beijing',
  workspace: 'w',
  name: 'qwen-plus-a',
  modelName: 'qwen-plus',
  baseModel: 'svc-plus',
  plan: 'mu',
  baseCapacity: 1,
  capacity: 2,
  readyCapacity: 1,
  ptu: undefined,
  rpmLimit: undefined,
  tpmLimit: undefined,
  status: 'updating',
  generation: 2,
  appliedGeneration: 1,
  spec: {},
  creator: 'key_1',
  modifier: 'key_2',
  createdAt: CREATED_AT,
  modifiedAt: CREATED_AT + 60_000,
};

const FULL: DeploymentRecord = {
  ...RECORD,
  plan: 'ptu',
  ptu: { inputTpm: 3, outputTpm: 2, thinkingOutputTpm: 0 },
  rpmLimit: 5,
  tpmLimit: 6,
  spec: { displayName: 'Ours', deploySpec: 'MU1', enableThinking: true, maxContextLength: 1024 },
};

const WIRE =
  '{"deployed_model":"qwen-plus-a","gmt_create":"2025-06-17T11:00:38","gmt_modified":"2025-06-17T11:01:38",' +
  '"status":"UPDATING","model_name":"qwen-plus","base_model":"svc-plus","base_capacity":1,"capacity":2,"ready_capacity":1,' +
  '"workspace_id":"w","charge_type":"post_paid","creator":"key_1","modifier":"key_2",';
const BARE =
  '"name":"","plan":"mu","model_unit_spec":"","enable_thinking":false,"max_context_length":null,' +
  '"rpm_limit":null,"tpm_limit":null,"ptu_capacity":null';

function createTestDeployments(
  record = RECORD,
  { strict = false, zone = 'UTC', changes = [] as readonly DeploymentChange[], abilities = {} as Abilities } = {},
) {
  const calls: unknown[] = [];
  const recordCall =
    (name: string) =>
    (_owner: unknown, ...args: readonly unknown[]): Promise<DeploymentRecord> => {
      calls.push([name, ...args]);
      return Promise.resolve(record);
    };
  const deployments: Deployments = {
    create: recordCall('create'),
    find: () => Promise.resolve(record),
    scale: recordCall('scale'),
    throttle: recordCall('throttle'),
    delete: recordCall('delete'),
    list(_owner, listQuery) {
      calls.push(['list', listQuery]);
      return Promise.resolve({ total: 7, deployments: [record] });
    },
    events: () => Promise.resolve([]),
    async *watch() {
      await Promise.resolve();
      yield changes;
    },
  };
  const endpoints = createDeploymentEndpoints({
    deployments,
    listDeployableModels: () => ['svc-plus', 'svc-turbo'],
    findBaseModel: () => ({ contextTokens: 4096, abilities }),
    time: createZonedTime(zone),
    strict,
  });
  const findEndpoint = (method: string, path: string) =>
    endpoints.find((each) => each.method === method && each.path === `/api/v1/deployments${path}`) ?? assert.fail(path);
  return {
    calls,
    endpointOf: findEndpoint,
    request: (method: string, path: string, call: EndpointCall = {}) =>
      callEndpoint(findEndpoint(method, path), { params: { id: 'qwen-plus-a' }, ...call }),
  };
}

test('encodes a record with all fields in order', async () => {
  const { body } = await createTestDeployments().request('GET', '/:id');
  assert.equal(JSON.stringify(body), `{"request_id":"${TEST_REQUEST_ID}","output":${WIRE}${BARE}}}`);
});

for (const [method, path, body] of [
  ['POST', '', { model_name: 'm', capacity: 2 }],
  ['PUT', '/:id/scale', { capacity: 2 }],
  ['PUT', '/:id/update', { rpm_limit: 1 }],
  ['PUT', '/:id', { rpm_limit: 1 }],
  ['DELETE', '/:id', undefined],
] as const) {
  test(`${method} ${path} answers with the whole record`, async () => {
    const { status, body: responseBody } = await createTestDeployments().request(method, path, { body });
    assert.equal(status, 200);
    assert.equal(JSON.stringify(responseBody), `{"request_id":"${TEST_REQUEST_ID}","output":${WIRE}${BARE}}}`);
  });
}

test('encodes the fields that were set, and times in the configured zone', async () => {
  const { body } = await createTestDeployments(FULL, { zone: 'Asia/Shanghai' }).request('GET', '/:id');
  const expected = WIRE.replaceAll('T11:0', 'T19:0');
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${TEST_REQUEST_ID}","output":${expected}"name":"Ours","plan":"ptu","model_unit_spec":"MU1",` +
      '"enable_thinking":true,"max_context_length":1024,"rpm_limit":5,"tpm_limit":6,' +
      '"ptu_capacity":{"input_tpm":3,"output_tpm":2,"thinking_output_tpm":0}}}',
  );
});

test('lists 50 deployments per page by default, or the requested page size', async () => {
  const service = createTestDeployments();
  const { body } = await service.request('GET', '');
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${TEST_REQUEST_ID}","output":{"page_no":1,"page_size":50,"total":7,"deployments":[${WIRE}${BARE}}]}}`,
  );
  const { headers } = await service.request('GET', '', { query: 'page_no=3&page_size=200&status=RUNNING&x=1' });
  assert.deepEqual(headers, { 'x-parley-ignored': 'x' });
  assert.deepEqual(service.calls, [
    ['list', { status: undefined, limit: 50, skip: 0 }],
    ['list', { status: 'running', limit: 200, skip: 400 }],
  ]);
});

for (const [query, expected] of [
  ['page_no=0', /page_no should be/],
  ['page_size=201', /Range of page_size should be \[1, 200\] \(page_size: "201"\)/],
  ['page_size=1.5', /page_size/],
  ['status=SCALING', /status must be one of "PENDING"/],
] as const) {
  test(`rejects a list with ${query}`, async () => {
    const { status, body } = await createTestDeployments().request('GET', '', { query });
    assert.deepEqual([status, (body as { code: string }).code], [400, 'InvalidParameter']);
    assert.match((body as { message: string }).message, expected);
  });
}

test('creates a deployment, and names fields without effect', async () => {
  const service = createTestDeployments();
  const { status, headers } = await service.request('POST', '', {
    body: {
      model_name: 'qwen-plus',
      plan: 'MU',
      capacity: 2,
      suffix: 'a',
      name: 'Ours',
      deploy_spec: 'MU1',
      template_id: 't',
      billing_method: 'POST_PAY',
      charge_type: 'pre_paid',
      pre_paid_info: { months: 1 },
      enable_thinking: true,
      max_context_length: 4096,
      rpm_limit: 5,
      tpm_limit: null,
      service_tier: 's',
      model_version: 'v',
      unknown_field: 1,
    },
  });
  assert.equal(status, 200);
  assert.deepEqual(headers, {
    'x-parley-ignored': 'unknown_field,deploy_spec,template_id,charge_type,pre_paid_info,service_tier,model_version',
  });
  assert.deepEqual(service.calls, [
    [
      'create',
      {
        modelName: 'qwen-plus',
        plan: 'mu',
        capacity: 2,
        rpmLimit: 5,
        spec: {
          displayName: 'Ours',
          suffix: 'a',
          deploySpec: 'MU1',
          templateId: 't',
          serviceTier: 's',
          modelVersion: 'v',
          enableThinking: true,
          maxContextLength: 4096,
        },
      },
    ],
  ]);
});

test('uses the plan cu by default, and accepts an object as deploy_spec', async () => {
  const service = createTestDeployments();
  const { headers } = await service.request('POST', '', {
    body: { model_name: 'm', capacity: 0, deploy_spec: { a: 1 } },
  });
  assert.deepEqual(service.calls, [['create', { modelName: 'm', plan: 'cu', capacity: 0, spec: {} }]]);
  assert.deepEqual(headers, { 'x-parley-ignored': 'deploy_spec' });
});

test('decodes a reservation of tokens and a context length', async () => {
  const service = createTestDeployments();
  const ptu_capacity = { input_tpm: 3, output_tpm: 2, thinking_output_tpm: 0 };
  const body = { model_name: 'm', plan: 'ptu', ptu_capacity, max_context_length: 1024 };
  const { headers } = await service.request('POST', '', { body });
  assert.deepEqual(service.calls, [
    [
      'create',
      {
        modelName: 'm',
        plan: 'ptu',
        ptu: { inputTpm: 3, outputTpm: 2, thinkingOutputTpm: 0 },
        spec: { maxContextLength: 1024 },
      },
    ],
  ]);
  assert.deepEqual(headers, {});
});

test('names thinking and a context length that the model does not support', async () => {
  const service = createTestDeployments(RECORD, { abilities: { thinking: false } });
  const body = { model_name: 'm', capacity: 1, enable_thinking: true, max_context_length: 4097 };
  const { headers } = await service.request('POST', '', { body });
  assert.deepEqual(headers, { 'x-parley-ignored': 'enable_thinking,max_context_length(clamped)' });
  const without = { ...body, enable_thinking: false, max_context_length: 4096 };
  assert.deepEqual((await service.request('POST', '', { body: without })).headers, {});
});

const PTU = { input_tpm: 1, output_tpm: 1, thinking_output_tpm: 1 };
for (const [change, expected] of [
  [{ model_name: undefined }, /^Required parameter\(model_name\) missing/],
  [{ model_name: '' }, /^model_name must have at least 1 characters/],
  [{ model_name: 5 }, /^model_name must be a string, got 5\.$/],
  [{ plan: 'lora' }, /^plan lora is not served.*plan must be one of cu, mu, ptu \(plan: "lora"\)$/],
  [{ plan: 'x' }, /^plan must be one of cu, mu, ptu \(plan: "x"\)$/],
  [{ ptu_capacity: { ...PTU, output_tpm: undefined } }, /^Required parameter\(ptu_capacity\.output_tpm\) missing/],
  [{ ptu_capacity: { ...PTU, input_tpm: -1 } }, /^ptu_capacity\.input_tpm must be at least 0, got -1\.$/],
  [{ ptu_capacity: { ...PTU, input_tpm: '1' } }, /^ptu_capacity\.input_tpm must be a number, got "1"\.$/],
  [{ ptu_capacity: 5 }, /^ptu_capacity must be an object, got 5\.$/],
  [{ rpm_limit: 0 }, /^rpm_limit must be at least 1, got 0\.$/],
  [{ tpm_limit: 1.5 }, /^tpm_limit must be an integer, got 1\.5\.$/],
  [{ enable_thinking: 'yes' }, /^enable_thinking must be true or false, got "yes"\.$/],
  [{ max_context_length: 1 }, /^max_context_length must be at least 256, got 1\.$/],
  [{ name: 'x'.repeat(129) }, /^name must have at most 128 characters/],
] as const) {
  test(`rejects a creation with ${JSON.stringify(change).slice(0, 60)}`, async () => {
    const service = createTestDeployments();
    const { status, body } = await service.request('POST', '', { body: { model_name: 'm', capacity: 1, ...change } });
    assert.deepEqual([status, (body as { code: string }).code], [400, 'InvalidParameter']);
    assert.match((body as { message: string }).message, expected);
    assert.deepEqual(service.calls, []);
  });
}

test("passes on an invalid capacity, which the resource rejects with the specification's text", async () => {
  const service = createTestDeployments();
  for (const [sent, described] of [
    ['2', '"2"'],
    [true, 'true'],
    [{ a: 1 }, 'an object'],
    [[1], 'an array of 1'],
    ['x'.repeat(99), `"${'x'.repeat(40)}…"`],
  ]) {
    await service.request('PUT', '/:id/scale', { body: { capacity: sent } });
    assert.deepEqual(service.calls.at(-1), ['scale', 'qwen-plus-a', { capacity: described }]);
  }
});

test("scales by the body, which may repeat the path's name but not contain another", async () => {
  const service = createTestDeployments();
  await service.request('PUT', '/:id/scale', { body: { deployed_model: 'qwen-plus-a', capacity: 3 } });
  assert.deepEqual(service.calls, [['scale', 'qwen-plus-a', { capacity: 3 }]]);
  const reserved = createTestDeployments(FULL);
  await reserved.request('PUT', '/:id/scale', { body: { ptu_capacity: PTU } });
  assert.deepEqual(reserved.calls, [
    ['scale', 'qwen-plus-a', { ptu: { inputTpm: 1, outputTpm: 1, thinkingOutputTpm: 1 } }],
  ]);
  for (const path of ['/:id/scale', '/:id/update']) {
    const { status, body } = await service.request('PUT', path, {
      body: { deployed_model: 'b', capacity: 3, rpm_limit: 1 },
    });
    assert.equal(status, 400);
    assert.match((body as { message: string }).message, /deployed_model must equal the name in the path/);
  }
  assert.equal(service.calls.length, 1);
});

test('sets limits on both paths, removes a limit by null, and keeps absent limits', async () => {
  const service = createTestDeployments();
  await service.request('PUT', '/:id/update', { body: { rpm_limit: 1, tpm_limit: 2 } });
  await service.request('PUT', '/:id', { body: { rpm_limit: null } });
  assert.deepEqual(service.calls, [
    ['throttle', 'qwen-plus-a', { rpmLimit: 1, tpmLimit: 2 }],
    ['throttle', 'qwen-plus-a', { rpmLimit: undefined }],
  ]);
  const { status, body } = await service.request('PUT', '/:id', { body: {} });
  assert.equal(status, 400);
  assert.match((body as { message: string }).message, /^Required parameter\(rpm_limit\) missing/);
});

test('rejects an unknown field in strict mode', async () => {
  const { status, body } = await createTestDeployments(RECORD, { strict: true }).request('PUT', '/:id/scale', {
    body: { capacity: 1, unknown_field: 1 },
  });
  assert.equal(status, 400);
  assert.match((body as { message: string }).message, /unknown_field/);
});

test('lists the models that can be deployed, with their plans for version v1.0', async () => {
  const service = createTestDeployments();
  const requestModels = async (query: string) =>
    JSON.stringify((await service.request('GET', '/models', { query })).body);
  const formatPage = (models: string, [size, total] = [50, 2]) =>
    `{"request_id":"${TEST_REQUEST_ID}","output":{"page_no":1,"page_size":${size},"total":${total},"models":[${models}]}}`;
  const formatModel = (name: string, more = '') => `{"model_name":"${name}","base_capacity":1${more}}`;
  assert.equal(await requestModels(''), formatPage(`${formatModel('svc-plus')},${formatModel('svc-turbo')}`));
  const plans = ['cu', 'mu', 'ptu'].map((plan) => `{"plan":"${plan}","templates":[],"cu_specs":[]}`).join(',');
  const more = `,"model_source":"base","supported_plans":["cu","mu","ptu"],"plans":[${plans}]`;
  assert.equal(
    await requestModels('version=v1.0&page_size=1&model_source=base'),
    formatPage(formatModel('svc-plus', more), [1, 2]),
  );
  assert.equal(await requestModels('model_source=custom'), formatPage('', [50, 0]));
});

const CHANGE: DeploymentChange = {
  record: RECORD,
  event: {
    deployment: 'dep_1',
    number: 4,
    at: CREATED_AT + 60_000,
    transition: 'scale',
    from: 'running',
    to: 'updating',
    reason: 'capacity 2, after capacity 1',
    keyId: 'key_2',
    generation: 2,
    capacity: 2,
    readyCapacity: 1,
  },
};

test('streams each change with the record after it', async () => {
  const failed: DeploymentChange = {
    record: { ...RECORD, status: 'failed', readyCapacity: 0 },
    event: {
      ...CHANGE.event,
      number: 5,
      transition: 'fail',
      from: undefined,
      to: 'failed',
      reason: 'no',
      keyId: undefined,
    },
  };
  const service = createTestDeployments(RECORD, { changes: [CHANGE, failed] });
  const context: RequestContext = TEST_CONTEXT;
  const reply = await service
    .endpointOf('GET', '/:id/stream')
    .handle({ body: undefined, params: { id: 'a' }, query: new URLSearchParams(), headers: {} }, context);
  assert.ok(reply.type === 'stream');
  const { encoder } = reply;
  let text = encoder.open();
  for await (const batch of reply.batches) text += encoder.push(batch);
  assert.equal(encoder.contentType, 'text/event-stream;charset=UTF-8');
  assert.equal(
    text + encoder.close(),
    `id:1\nevent:result\n:HTTP_STATUS/200\ndata:{"request_id":"${TEST_REQUEST_ID}","output":${WIRE}${BARE},"event":` +
      '{"number":4,"time":"2025-06-17T11:01:38","type":"scale","from":"RUNNING","to":"UPDATING",' +
      '"reason":"capacity 2, after capacity 1","modifier":"key_2"}}}\n\n' +
      `id:2\nevent:result\n:HTTP_STATUS/200\ndata:{"request_id":"${TEST_REQUEST_ID}","output":` +
      `${WIRE.replace('UPDATING', 'FAILED').replace('"ready_capacity":1', '"ready_capacity":0')}${BARE},"event":` +
      '{"number":5,"time":"2025-06-17T11:01:38","type":"fail","from":"","to":"FAILED","reason":"no","modifier":""}}}\n\n',
  );
  assert.equal(
    encoder.fail(new ServiceError('timeout', 'It took too long.')),
    'id:3\nevent:error\n:HTTP_STATUS/504\ndata:{"code":"RequestTimeOut","message":' +
      `"Request timed out, please try again later. It took too long.","request_id":"${TEST_REQUEST_ID}"}\n\n`,
  );
  assert.equal(encoder.keepAlive(), ':keep-alive\n\n');
});

for (const [thinking, expectedStatus] of [
  [false, 200],
  [undefined, 200],
  ['native', 400],
  ['prompted', 400],
] as const)
  test(`requires a rate for thoughts only of a model that thinks: ${thinking} is ${expectedStatus}`, async () => {
    const abilities = thinking === undefined ? {} : { thinking };
    const { request } = createTestDeployments(FULL, { abilities });
    const ptu = { ptu_capacity: { input_tpm: 3, output_tpm: 2 } };
    for (const [method, path, body] of [
      ['POST', '', { model_name: 'm', plan: 'ptu', ...ptu }],
      ['PUT', '/:id/scale', ptu],
    ] as const) {
      const response = await request(method, path, { body });
      assert.equal(response.status, expectedStatus);
      if (expectedStatus === 400) assert.match(JSON.stringify(response.body), /ptu_capacity\.thinking_output_tpm/);
    }
  });
