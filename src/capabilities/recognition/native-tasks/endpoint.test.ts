import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { StoredTaskStatus } from '../../../store/tasks.ts';
import type { Task, TaskFilter, Tasks } from '../tasks/task.ts';
import {
  callEndpoint,
  TEST_CONTEXT,
  TEST_REQUEST_ID,
} from '../../../protocols/fields/__fixtures__/test-endpoint-call.ts';
import { createTaskCancelEndpoint, createTaskGetEndpoint, createTaskListEndpoint } from './endpoint.ts';

const SUBMITTED_AT = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

const TASK: Task = {
  id: 't1',
  status: 'succeeded',
  requestId: 'r1',
  model: 'svc-asr',
  service: ['audio', 'asr', 'transcription'],
  owner: TEST_CONTEXT.owner,
  submittedAt: SUBMITTED_AT,
  startedAt: SUBMITTED_AT + 1_000,
  endedAt: SUBMITTED_AT + 2_000,
  output: { results: [{ file_url: 'http://x' }] },
  usage: { duration: 9 },
};

const ENTRY =
  '{"api_key_id":"key_1","caller_parent_id":"w","caller_uid":"w",' +
  `"end_time":${SUBMITTED_AT + 2_000},"gmt_create":${SUBMITTED_AT},"model_name":"svc-asr","region":"cn-beijing","request_id":"r1",` +
  `"start_time":${SUBMITTED_AT + 1_000},"status":"SUCCEEDED","task_id":"t2","user_api_unique_key":"apikey:v1:audio:asr:transcription:svc-asr"}`;

const createFakeTasks = (...tasks: readonly Task[]): Tasks & { readonly filters: TaskFilter[] } => {
  const filters: TaskFilter[] = [];
  return {
    filters,
    find: async (_owner, id) => tasks.find((task) => task.id === id),
    async list(_owner, filter, { skip, take }) {
      filters.push(filter);
      return { total: tasks.length, tasks: tasks.slice(skip, skip + take) };
    },
    cancel: async (_owner, id) => tasks.some((task) => task.id === id && task.status === 'pending'),
  };
};

test('answers an unknown id with the status UNKNOWN', async () => {
  const { status, body } = await callEndpoint(createTaskGetEndpoint({ tasks: createFakeTasks() }), {
    params: { id: 'nope' },
  });
  assert.equal(status, 200);
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${TEST_REQUEST_ID}","output":{"task_id":"nope","task_status":"UNKNOWN"}}`,
  );
});

test('encodes results, times and usage of a finished task', async () => {
  const { body } = await callEndpoint(createTaskGetEndpoint({ tasks: createFakeTasks(TASK) }), {
    params: { id: 't1' },
  });
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${TEST_REQUEST_ID}","output":{"results":[{"file_url":"http://x"}],"task_id":"t1","task_status":"SUCCEEDED",` +
      '"submit_time":"2026-01-02 03:04:05.006","scheduled_time":"2026-01-02 03:04:06.006","end_time":"2026-01-02 03:04:07.006"},' +
      '"usage":{"duration":9}}',
  );
});

test('encodes the error of a failed task, and the submission time only of a pending task', async () => {
  const failed: Task = { ...TASK, id: 't2', status: 'failed', error: new ServiceError('invalid-request', 'No sound.') };
  const { startedAt: _, endedAt: __, usage: ___, ...rest } = TASK;
  const pending: Task = { ...rest, id: 't3', status: 'pending', output: {} };
  const get = createTaskGetEndpoint({ tasks: createFakeTasks(failed, pending) });
  const failedBody = (await callEndpoint(get, { params: { id: 't2' } })).body as { output: Record<string, unknown> };
  assert.deepEqual(
    [failedBody.output['task_status'], failedBody.output['code'], failedBody.output['message']],
    ['FAILED', 'InvalidParameter', 'No sound.'],
  );
  assert.deepEqual((await callEndpoint(get, { params: { id: 't3' } })).body, {
    request_id: TEST_REQUEST_ID,
    output: { task_id: 't3', task_status: 'PENDING', submit_time: '2026-01-02 03:04:05.006' },
  });
});

test('encodes an empty list with all fields', async () => {
  const { body } = await callEndpoint(createTaskListEndpoint({ tasks: createFakeTasks() }));
  assert.equal(
    JSON.stringify(body),
    `{"total":0,"data":[],"tasks":[],"total_page":0,"page_no":1,"request_id":"${TEST_REQUEST_ID}","page_size":10}`,
  );
});

test('lists tasks with times in milliseconds, and passes on the filters', async () => {
  const tasks = createFakeTasks(TASK, { ...TASK, id: 't2' });
  const query =
    'page_no=2&page_size=1&status=SUCCEEDED&model_name=m&start_time=20260102030405&end_time=20260103000000&task_id=t&region=cn-beijing&api_key_id=k&x=1';
  const { body, headers } = await callEndpoint(createTaskListEndpoint({ tasks }), { query });
  assert.equal(
    JSON.stringify(body),
    `{"total":2,"data":[${ENTRY}],"tasks":[${ENTRY}],"total_page":2,"page_no":2,"request_id":"${TEST_REQUEST_ID}","page_size":1}`,
  );
  assert.deepEqual(headers, { 'x-parley-ignored': 'x' });
  assert.deepEqual(tasks.filters, [
    {
      id: 't',
      status: 'succeeded',
      model: 'm',
      keyId: 'k',
      region: 'cn-beijing',
      from: Date.UTC(2026, 0, 2, 3, 4, 5),
      to: Date.UTC(2026, 0, 3),
    },
  ]);
});

const SPELLINGS: Readonly<Record<StoredTaskStatus, string>> = {
  pending: 'PENDING',
  running: 'RUNNING',
  suspended: 'SUSPENDED',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  cancelled: 'CANCELED',
};

for (const [status, spelling] of Object.entries(SPELLINGS) as [StoredTaskStatus, string][]) {
  test(`encodes and decodes the status ${status} as ${spelling}`, async () => {
    const tasks = createFakeTasks({ ...TASK, status });
    const { body } = await callEndpoint(createTaskGetEndpoint({ tasks }), { params: { id: 't1' } });
    assert.equal((body as { output: { task_status: string } }).output.task_status, spelling);
    const { body: list } = await callEndpoint(createTaskListEndpoint({ tasks }), { query: `status=${spelling}` });
    assert.equal((list as { data: { status: string }[] }).data[0]?.status, spelling);
    assert.equal(tasks.filters[0]?.status, status);
  });
}

test('lists no tasks for the status UNKNOWN', async () => {
  const tasks = createFakeTasks(TASK);
  const { body } = await callEndpoint(createTaskListEndpoint({ tasks }), { query: 'status=UNKNOWN' });
  assert.deepEqual([(body as { total: number }).total, tasks.filters], [0, []]);
});

for (const query of ['status=DONE', 'start_time=2026-01-01', 'end_time=20261399000000', 'page_size=0']) {
  test(`rejects ${query}`, async () => {
    const { status, body } = await callEndpoint(createTaskListEndpoint({ tasks: createFakeTasks() }), { query });
    assert.deepEqual([status, (body as { code: string }).code], [400, 'InvalidParameter']);
  });
}

test('cancels a pending task only', async () => {
  const cancel = createTaskCancelEndpoint({ tasks: createFakeTasks(TASK, { ...TASK, id: 't2', status: 'pending' }) });
  assert.deepEqual(await callEndpoint(cancel, { params: { id: 't2' } }), {
    status: 200,
    body: { request_id: TEST_REQUEST_ID },
    headers: {},
  });
  for (const id of ['t1', 'nope']) {
    assert.deepEqual(await callEndpoint(cancel, { params: { id } }), {
      status: 400,
      body: {
        code: 'UnsupportedOperation',
        message: 'Failed to cancel the task, please confirm if the task is in PENDING status.',
        request_id: TEST_REQUEST_ID,
      },
      headers: {},
    });
  }
});
