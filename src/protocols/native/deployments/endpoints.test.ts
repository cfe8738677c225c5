import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Abilities } from '../../../core/abilities.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { DeploymentRecord } from '../../../core/deployment.ts';
import { ServiceError } from '../../../core/error.ts';
import type { DeploymentChange, Deployments } from '../../../resources/deployments/deployment.ts';
import { ask, type Asked, CONTEXT, REQUEST_ID } from '../../fields/__fixtures__/ask.ts';
import { createZonedTime } from '../../fields/zoned-time.ts';
import { nativeDeployments } from './endpoints.ts';

const AT = Date.parse('2025-06-17T11:00:38.123Z');

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
  reached: 1,
  spec: {},
  creator: 'key_1',
  modifier: 'key_2',
  createdAt: AT,
  modifiedAt: AT + 60_000,
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

function createHouse(
  record = RECORD,
  { strict = false, zone = 'UTC', changes = [] as readonly DeploymentChange[], abilities = {} as Abilities } = {},
) {
  const calls: unknown[] = [];
  const told =
    (name: string) =>
    (_owner: unknown, ...args: readonly unknown[]): Promise<DeploymentRecord> => {
      calls.push([name, ...args]);
      return Promise.resolve(record);
    };
  const deployments: Deployments = {
    create: told('create'),
    find: told('find'),
    scale: told('scale'),
    throttle: told('throttle'),
    delete: told('delete'),
    list(_owner, wish) {
      calls.push(['list', wish]);
      return Promise.resolve({ total: 7, deployments: [record] });
    },
    events: () => Promise.resolve([]),
    async *watch() {
      await Promise.resolve();
      yield changes;
    },
  };
  const endpoints = nativeDeployments({
    deployments,
    deployableIn: () => ['svc-plus', 'svc-turbo'],
    modelOf: () => ({ contextTokens: 4096, abilities }),
    time: createZonedTime(zone),
    strict,
  });
  const endpointOf = (method: string, path: string) =>
    endpoints.find((each) => each.method === method && each.path === `/api/v1/deployments${path}`) ?? assert.fail(path);
  return {
    calls,
    endpointOf,
    ask: (method: string, path: string, asked: Asked = {}) =>
      ask(endpointOf(method, path), { params: { id: 'qwen-plus-a' }, ...asked }),
  };
}

test('a record has all of its fields, in their order', async () => {
  const { body } = await createHouse().ask('GET', '/:id');
  assert.equal(JSON.stringify(body), `{"request_id":"${REQUEST_ID}","output":${WIRE}${BARE}}}`);
});

for (const [method, path, body] of [
  ['POST', '', { model_name: 'm', capacity: 2 }],
  ['PUT', '/:id/scale', { capacity: 2 }],
  ['PUT', '/:id/update', { rpm_limit: 1 }],
  ['PUT', '/:id', { rpm_limit: 1 }],
  ['DELETE', '/:id', undefined],
] as const) {
  test(`${method} ${path} answers the whole record, too`, async () => {
    const { status, body: told } = await createHouse().ask(method, path, { body });
    assert.equal(status, 200);
    assert.equal(JSON.stringify(told), `{"request_id":"${REQUEST_ID}","output":${WIRE}${BARE}}}`);
  });
}

test('a record tells what was set, and times in the configured zone', async () => {
  const { body } = await createHouse(FULL, { zone: 'Asia/Shanghai' }).ask('GET', '/:id');
  const expected = WIRE.replaceAll('T11:0', 'T19:0');
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${REQUEST_ID}","output":${expected}"name":"Ours","plan":"ptu","model_unit_spec":"MU1",` +
      '"enable_thinking":true,"max_context_length":1024,"rpm_limit":5,"tpm_limit":6,' +
      '"ptu_capacity":{"input_tpm":3,"output_tpm":2,"thinking_output_tpm":0}}}',
  );
});

test('a page has 50 where nothing is asked for, and what was asked for otherwise', async () => {
  const house = createHouse();
  const { body } = await house.ask('GET', '');
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${REQUEST_ID}","output":{"page_no":1,"page_size":50,"total":7,"deployments":[${WIRE}${BARE}}]}}`,
  );
  const { headers } = await house.ask('GET', '', { query: 'page_no=3&page_size=200&status=RUNNING&x=1' });
  assert.deepEqual(headers, { 'x-parley-ignored': 'x' });
  assert.deepEqual(house.calls, [
    ['list', { status: undefined, limit: 50, skip: 0 }],
    ['list', { status: 'running', limit: 200, skip: 400 }],
  ]);
});

for (const [query, says] of [
  ['page_no=0', /page_no should be/],
  ['page_size=201', /Range of page_size should be \[1, 200\] \(page_size: "201"\)/],
  ['page_size=1.5', /page_size/],
  ['status=SCALING', /status must be one of "PENDING"/],
] as const) {
  test(`refuses a list with ${query}`, async () => {
    const { status, body } = await createHouse().ask('GET', '', { query });
    assert.deepEqual([status, (body as { code: string }).code], [400, 'InvalidParameter']);
    assert.match((body as { message: string }).message, says);
  });
}

test('what is asked for is made, and what changes nothing here is named', async () => {
  const house = createHouse();
  const { status, headers } = await house.ask('POST', '', {
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
      wish: 1,
    },
  });
  assert.equal(status, 200);
  assert.deepEqual(headers, {
    'x-parley-ignored': 'wish,deploy_spec,template_id,charge_type,pre_paid_info,service_tier,model_version',
  });
  assert.deepEqual(house.calls, [
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

test('without a plan it is one with engines of its own; a specification may be an object', async () => {
  const house = createHouse();
  const { headers } = await house.ask('POST', '', { body: { model_name: 'm', capacity: 0, deploy_spec: { a: 1 } } });
  assert.deepEqual(house.calls, [['create', { modelName: 'm', plan: 'cu', capacity: 0, spec: {} }]]);
  assert.deepEqual(headers, { 'x-parley-ignored': 'deploy_spec' });
});

test('of reserved tokens all three are there, and a context of its own may be', async () => {
  const house = createHouse();
  const ptu_capacity = { input_tpm: 3, output_tpm: 2, thinking_output_tpm: 0 };
  const body = { model_name: 'm', plan: 'ptu', ptu_capacity, max_context_length: 1024 };
  const { headers } = await house.ask('POST', '', { body });
  assert.deepEqual(house.calls, [
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

test('what its model cannot do is named: to think, or to remember more', async () => {
  const house = createHouse(RECORD, { abilities: { thinking: false } });
  const body = { model_name: 'm', capacity: 1, enable_thinking: true, max_context_length: 4097 };
  const { headers } = await house.ask('POST', '', { body });
  assert.deepEqual(headers, { 'x-parley-ignored': 'enable_thinking,max_context_length(clamped)' });
  const without = { ...body, enable_thinking: false, max_context_length: 4096 };
  assert.deepEqual((await house.ask('POST', '', { body: without })).headers, {});
});

const PTU = { input_tpm: 1, output_tpm: 1, thinking_output_tpm: 1 };
for (const [change, says] of [
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
  test(`refuses to make one with ${JSON.stringify(change).slice(0, 60)}`, async () => {
    const house = createHouse();
    const { status, body } = await house.ask('POST', '', { body: { model_name: 'm', capacity: 1, ...change } });
    assert.deepEqual([status, (body as { code: string }).code], [400, 'InvalidParameter']);
    assert.match((body as { message: string }).message, says);
    assert.deepEqual(house.calls, []);
  });
}

test('hands on what stands in the place of a capacity, for the specification’s words', async () => {
  const house = createHouse();
  for (const [sent, told] of [
    ['2', '"2"'],
    [true, 'true'],
    [{ a: 1 }, 'an object'],
    [[1], 'an array of 1'],
    ['x'.repeat(99), `"${'x'.repeat(40)}…"`],
  ]) {
    await house.ask('PUT', '/:id/scale', { body: { capacity: sent } });
    assert.deepEqual(house.calls.at(-1), ['scale', 'qwen-plus-a', { capacity: told }]);
  }
});

test('scales by what the body has, and hears its name said again', async () => {
  const house = createHouse();
  await house.ask('PUT', '/:id/scale', { body: { deployed_model: 'qwen-plus-a', capacity: 3 } });
  await house.ask('PUT', '/:id/scale', { body: { ptu_capacity: PTU } });
  assert.deepEqual(house.calls, [
    ['scale', 'qwen-plus-a', { capacity: 3 }],
    ['scale', 'qwen-plus-a', { ptu: { inputTpm: 1, outputTpm: 1, thinkingOutputTpm: 1 } }],
  ]);
  for (const path of ['/:id/scale', '/:id/update']) {
    const { status, body } = await house.ask('PUT', path, { body: { deployed_model: 'b', capacity: 3, rpm_limit: 1 } });
    assert.equal(status, 400);
    assert.match((body as { message: string }).message, /deployed_model must be the one of the path/);
  }
  assert.equal(house.calls.length, 2);
});

test('limits on both paths, takes a limit away, and leaves what is not there', async () => {
  const house = createHouse();
  await house.ask('PUT', '/:id/update', { body: { rpm_limit: 1, tpm_limit: 2 } });
  await house.ask('PUT', '/:id', { body: { rpm_limit: null } });
  assert.deepEqual(house.calls, [
    ['throttle', 'qwen-plus-a', { rpmLimit: 1, tpmLimit: 2 }],
    ['throttle', 'qwen-plus-a', { rpmLimit: undefined }],
  ]);
  const { status, body } = await house.ask('PUT', '/:id', { body: {} });
  assert.equal(status, 400);
  assert.match((body as { message: string }).message, /^Required parameter\(rpm_limit\) missing/);
});

test('strict: refuses a field that nobody knows', async () => {
  const { status, body } = await createHouse(RECORD, { strict: true }).ask('PUT', '/:id/scale', {
    body: { capacity: 1, wish: 1 },
  });
  assert.equal(status, 400);
  assert.match((body as { message: string }).message, /wish/);
});

test('says which models there are to deploy, and with a version how', async () => {
  const house = createHouse();
  const asked = async (query: string) => JSON.stringify((await house.ask('GET', '/models', { query })).body);
  const page = (models: string, [size, total] = [50, 2]) =>
    `{"request_id":"${REQUEST_ID}","output":{"page_no":1,"page_size":${size},"total":${total},"models":[${models}]}}`;
  const named = (name: string, more = '') => `{"model_name":"${name}","base_capacity":1${more}}`;
  assert.equal(await asked(''), page(`${named('svc-plus')},${named('svc-turbo')}`));
  const plans = ['cu', 'mu', 'ptu'].map((plan) => `{"plan":"${plan}","templates":[],"cu_specs":[]}`).join(',');
  const more = `,"model_source":"base","supported_plans":["cu","mu","ptu"],"plans":[${plans}]`;
  assert.equal(await asked('version=v1.0&page_size=1&model_source=base'), page(named('svc-plus', more), [1, 2]));
  assert.equal(await asked('model_source=custom'), page('', [50, 0]));
});

const CHANGE: DeploymentChange = {
  record: RECORD,
  event: {
    deployment: 'dep_1',
    number: 4,
    at: AT + 60_000,
    move: 'scale',
    from: 'running',
    to: 'updating',
    reason: 'capacity 2, after capacity 1',
    keyId: 'key_2',
    generation: 2,
    capacity: 2,
    readyCapacity: 1,
  },
};

test('streams the record after each change, with the change', async () => {
  const failed: DeploymentChange = {
    record: { ...RECORD, status: 'failed', readyCapacity: 0 },
    event: { ...CHANGE.event, number: 5, move: 'fail', from: undefined, to: 'failed', reason: 'no', keyId: undefined },
  };
  const house = createHouse(RECORD, { changes: [CHANGE, failed] });
  const context: RequestContext = CONTEXT;
  const reply = await house
    .endpointOf('GET', '/:id/stream')
    .handle({ body: undefined, params: { id: 'a' }, query: new URLSearchParams(), headers: {} }, context);
  assert.ok(reply.type === 'stream');
  const { encoder } = reply;
  let text = encoder.open();
  for await (const batch of reply.batches) text += encoder.push(batch);
  assert.equal(encoder.contentType, 'text/event-stream;charset=UTF-8');
  assert.equal(
    text + encoder.close(),
    `id:1\nevent:result\n:HTTP_STATUS/200\ndata:{"request_id":"${REQUEST_ID}","output":${WIRE}${BARE},"event":` +
      '{"number":4,"time":"2025-06-17T11:01:38","type":"scale","from":"RUNNING","to":"UPDATING",' +
      '"reason":"capacity 2, after capacity 1","modifier":"key_2"}}}\n\n' +
      `id:2\nevent:result\n:HTTP_STATUS/200\ndata:{"request_id":"${REQUEST_ID}","output":` +
      `${WIRE.replace('UPDATING', 'FAILED').replace('"ready_capacity":1', '"ready_capacity":0')}${BARE},"event":` +
      '{"number":5,"time":"2025-06-17T11:01:38","type":"fail","from":"","to":"FAILED","reason":"no","modifier":""}}}\n\n',
  );
  assert.equal(
    encoder.fail(new ServiceError('timeout', 'It took too long.')),
    'id:3\nevent:error\n:HTTP_STATUS/500\ndata:{"code":"RequestTimeOut","message":' +
      `"Request timed out, please try again later. It took too long.","request_id":"${REQUEST_ID}"}\n\n`,
  );
  assert.equal(encoder.keepAlive(), ':keep-alive\n\n');
});
