import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import { noTasks } from '../../../resources/tasks/task.ts';
import type { Task, TaskFilter, TaskStatus, Tasks } from '../../../resources/tasks/task.ts';
import { ask, CONTEXT, REQUEST_ID } from '../../fields/__fixtures__/ask.ts';
import { taskCancel, taskGet, taskList } from './endpoint.ts';

const AT = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

const TASK: Task = {
  id: 't1',
  status: 'succeeded',
  requestId: 'r1',
  model: 'svc-asr',
  service: ['audio', 'asr', 'transcription'],
  owner: CONTEXT.owner,
  submittedAt: AT,
  startedAt: AT + 1_000,
  endedAt: AT + 2_000,
  output: { results: [{ file_url: 'http://x' }] },
  usage: { duration: 9 },
};

const ENTRY =
  '{"api_key_id":"key_1","caller_parent_id":"w","caller_uid":"w",' +
  `"end_time":${AT + 2_000},"gmt_create":${AT},"model_name":"svc-asr","region":"cn-beijing","request_id":"r1",` +
  `"start_time":${AT + 1_000},"status":"SUCCEEDED","task_id":"t2","user_api_unique_key":"apikey:v1:audio:asr:transcription:svc-asr"}`;

const holding = (...tasks: readonly Task[]): Tasks & { readonly asked: TaskFilter[] } => {
  const asked: TaskFilter[] = [];
  return {
    asked,
    find: async (_owner, id) => tasks.find((task) => task.id === id),
    async list(_owner, filter, { skip, take }) {
      asked.push(filter);
      return { total: tasks.length, tasks: tasks.slice(skip, skip + take) };
    },
    cancel: async (_owner, id) => tasks.some((task) => task.id === id && task.status === 'pending'),
  };
};

test('a task that nobody knows is no error', async () => {
  const { status, body } = await ask(taskGet({ tasks: noTasks }), { params: { id: 'nope' } });
  assert.equal(status, 200);
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${REQUEST_ID}","output":{"task_id":"nope","task_status":"UNKNOWN"}}`,
  );
});

test('a finished task says its results, times and usage', async () => {
  const { body } = await ask(taskGet({ tasks: holding(TASK) }), { params: { id: 't1' } });
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${REQUEST_ID}","output":{"results":[{"file_url":"http://x"}],"task_id":"t1","task_status":"SUCCEEDED",` +
      '"submit_time":"2026-01-02 03:04:05.006","scheduled_time":"2026-01-02 03:04:06.006","end_time":"2026-01-02 03:04:07.006"},' +
      '"usage":{"duration":9}}',
  );
});

test('a failed task says why, one that waits has no times but its first', async () => {
  const failed: Task = { ...TASK, id: 't2', status: 'failed', error: new ServiceError('invalid-request', 'No sound.') };
  const { startedAt: _, endedAt: __, usage: ___, ...rest } = TASK;
  const pending: Task = { ...rest, id: 't3', status: 'pending', output: {} };
  const get = taskGet({ tasks: holding(failed, pending) });
  const said = (await ask(get, { params: { id: 't2' } })).body as { output: Record<string, unknown> };
  assert.deepEqual(
    [said.output['task_status'], said.output['code'], said.output['message']],
    ['FAILED', 'InvalidParameter', 'No sound.'],
  );
  assert.deepEqual((await ask(get, { params: { id: 't3' } })).body, {
    request_id: REQUEST_ID,
    output: { task_id: 't3', task_status: 'PENDING', submit_time: '2026-01-02 03:04:05.006' },
  });
});

test('an empty list has the shape of a full one', async () => {
  const { body } = await ask(taskList({ tasks: noTasks }));
  assert.equal(
    JSON.stringify(body),
    `{"total":0,"data":[],"tasks":[],"total_page":0,"page_no":1,"request_id":"${REQUEST_ID}","page_size":10}`,
  );
});

test('a list tells its tasks with times in milliseconds, and what it was asked for', async () => {
  const tasks = holding(TASK, { ...TASK, id: 't2' });
  const query =
    'page_no=2&page_size=1&status=SUCCEEDED&model_name=m&start_time=20260102030405&end_time=20260103000000&task_id=t&region=cn-beijing&api_key_id=k&x=1';
  const { body, headers } = await ask(taskList({ tasks }), { query });
  assert.equal(
    JSON.stringify(body),
    `{"total":2,"data":[${ENTRY}],"tasks":[${ENTRY}],"total_page":2,"page_no":2,"request_id":"${REQUEST_ID}","page_size":1}`,
  );
  assert.deepEqual(headers, { 'x-parley-ignored': 'x' });
  assert.deepEqual(tasks.asked, [
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

const SPELLINGS: Readonly<Record<TaskStatus, string>> = {
  pending: 'PENDING',
  running: 'RUNNING',
  suspended: 'SUSPENDED',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  cancelled: 'CANCELED',
};

for (const [status, spelling] of Object.entries(SPELLINGS) as [TaskStatus, string][]) {
  test(`a task that is ${status} is ${spelling}, when it is told and when it is asked for`, async () => {
    const tasks = holding({ ...TASK, status });
    const { body } = await ask(taskGet({ tasks }), { params: { id: 't1' } });
    assert.equal((body as { output: { task_status: string } }).output.task_status, spelling);
    const { body: list } = await ask(taskList({ tasks }), { query: `status=${spelling}` });
    assert.equal((list as { data: { status: string }[] }).data[0]?.status, spelling);
    assert.equal(tasks.asked[0]?.status, status);
  });
}

test('nothing that can be listed is unknown', async () => {
  const tasks = holding(TASK);
  const { body } = await ask(taskList({ tasks }), { query: 'status=UNKNOWN' });
  assert.deepEqual([(body as { total: number }).total, tasks.asked], [0, []]);
});

for (const query of ['status=DONE', 'start_time=2026-01-01', 'end_time=20261399000000', 'page_size=0']) {
  test(`refuses ${query}`, async () => {
    const { status, body } = await ask(taskList({ tasks: noTasks }), { query });
    assert.deepEqual([status, (body as { code: string }).code], [400, 'InvalidParameter']);
  });
}

test('only what is pending can be cancelled', async () => {
  const cancel = taskCancel({ tasks: holding(TASK, { ...TASK, id: 't2', status: 'pending' }) });
  assert.deepEqual(await ask(cancel, { params: { id: 't2' } }), {
    status: 200,
    body: { request_id: REQUEST_ID },
    headers: {},
  });
  for (const id of ['t1', 'nope']) {
    assert.deepEqual(await ask(cancel, { params: { id } }), {
      status: 400,
      body: {
        code: 'UnsupportedOperation',
        message: 'Failed to cancel the task, please confirm if the task is in PENDING status.',
        request_id: REQUEST_ID,
      },
      headers: {},
    });
  }
});
