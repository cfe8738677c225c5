import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../../../config/load-config.ts';
import { recognition } from '../../recognition-capability.ts';
import { createService } from '../../../../service/service.ts';

const quiet = () => undefined;

async function startService(environment: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-realtime-'));
  const env = {
    PARLEY_DATA: folder,
    PARLEY_PORT: '0',
    PARLEY_HUB_URL: 'off',
    PARLEY_SHUTDOWN_GRACE_MS: '0',
    ...environment,
  };
  const service = await createService(loadConfig({ env }).config, {
    capabilities: [recognition],
    log: { info: quiet, warn: quiet, error: quiet },
  });
  const [address] = await service.listen();
  const key = (await service.getFirstKey())?.secret ?? '';
  const url = address?.url ?? '';
  return {
    url,
    service,
    async [Symbol.asyncDispose]() {
      await service.close();
      rmSync(folder, { recursive: true });
    },
    async open() {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/api-ws/v1/inference/`, {
        headers: { authorization: `Bearer ${key}` },
      });
      await once(socket, 'open');
      return socket;
    },
  };
}

async function runTask(
  socket: WebSocket,
  model: string,
): Promise<{ readonly event: string; readonly error_code?: string; readonly error_message?: string }> {
  const header = { action: 'run-task', task_id: crypto.randomUUID(), streaming: 'duplex' };
  const parameters = { format: 'pcm', sample_rate: 16_000 };
  socket.send(JSON.stringify({ header, payload: { model, parameters, input: {} } }));
  const [message] = (await once(socket, 'message')) as [{ readonly data: string }];
  return (JSON.parse(message.data) as { header: { event: string } }).header;
}

test('serves every alias of the realtime model, and refuses sessions above the limit', async () => {
  await using server = await startService({ PARLEY_ENGINE_KIND: 'scripted', PARLEY_SPEECH_SESSIONS_MAX: '2' });
  const names = [
    'svc-asr-realtime',
    'paraformer-realtime-v2',
    'paraformer-realtime-8k-v2',
    'fun-asr-realtime-2025-11-07',
  ];
  for (const name of names) {
    const socket = await server.open();
    assert.equal((await runTask(socket, name)).event, 'task-started', name);
    socket.close();
    await once(socket, 'close');
  }
  const [one, two, three] = [await server.open(), await server.open(), await server.open()];
  assert.equal((await runTask(one, 'svc-asr-realtime')).event, 'task-started');
  assert.equal((await runTask(two, 'svc-asr-realtime')).event, 'task-started');
  const { event, error_code } = await runTask(three, 'svc-asr-realtime');
  assert.deepEqual([event, error_code], ['task-failed', 'ServiceUnavailable']);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  assert.match(metrics, /^parley_recognitions_running 2$/m);
  assert.match(metrics, /^parley_recognitions_total\{kind="cancelled"\} 4$/m);
  assert.match(metrics, /^parley_recognitions_total\{kind="overloaded"\} 1$/m);
  assert.match(metrics, /^parley_sockets_open [23]$/m);
  assert.match(metrics, /parley_requests_total\{operation="realtime.connect",status="101",kind="none"\} 7/);
});

test('fails a task with the reason when no engine is installed', async () => {
  await using server = await startService({});
  const socket = await server.open();
  const { event, error_code, error_message } = await runTask(socket, 'svc-asr-realtime');
  assert.deepEqual([event, error_code], ['task-failed', 'UnsupportedOperation']);
  assert.match(error_message ?? '', /^svc-asr-realtime: /);
});
