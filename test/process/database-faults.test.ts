import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startParley, type ParleyProcess } from '../clients/harness.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

describe('a running service whose database fails', () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
  });
  after(() => parley.stop());

  const createConversation = () =>
    fetch(`${parley.baseUrl}/conversations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      body: '{}',
    });
  const getHealth = () => fetch(new URL('/health', parley.baseUrl));
  let token = '';
  const getReady = async () => {
    token ||= (await readFile(join(parley.data, 'operator-token'), 'utf8')).trim();
    const response = await fetch(new URL('/ready', parley.baseUrl), { headers: { authorization: `Bearer ${token}` } });
    return { status: response.status, report: (await response.json()) as { readonly reason?: string } };
  };

  test('answers 503 with Retry-After while another process locks the database, and is healthy meanwhile', async () => {
    assert.equal((await createConversation()).status, 200);
    const other = new DatabaseSync(join(parley.data, 'parley.db'));
    other.exec('begin exclusive');
    const order: string[] = [];
    const writes = Promise.all(
      Array.from({ length: 4 }, async () => {
        const response = await createConversation();
        order.push('write');
        return response;
      }),
    );
    // A model's answer needs no write.
    const chat = await fetch(`${parley.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    assert.equal(chat.status, 200);
    for (let count = 0; count < 20; count += 1) {
      assert.equal((await getHealth()).status, 200);
      order.push('health');
    }
    for (const response of await writes) {
      const { error } = (await response.json()) as { readonly error: { readonly message: string } };
      assert.deepEqual([response.status, response.headers.get('retry-after')], [503, '1']);
      assert.match(error.message, /^The database of the service is locked at the moment\./);
    }
    assert.deepEqual(order, [...Array.from({ length: 20 }, () => 'health'), 'write', 'write', 'write', 'write']);
    const { status, report } = await getReady();
    assert.equal(status, 503);
    assert.match(report.reason ?? '', /another process has kept the lock of .*parley\.db/);
    other.exec('rollback');
    other.close();
    assert.equal((await createConversation()).status, 200);
    assert.equal((await getReady()).status, 200);
  });

  test('keeps a second service from its data folder', async () => {
    const second = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', CLI, 'serve', '--data', parley.data, '--port', '0'],
      {
        env: { ...process.env, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const closed = once(second, 'close');
    const [output, errors] = await Promise.all([readText(second.stdout), readText(second.stderr)]);
    assert.deepEqual(await closed, [1, null], output + errors);
    assert.match(output + errors, new RegExp(`Another service uses the data folder ${parley.data}`));
    assert.equal((await createConversation()).status, 200);
  });

  test('acknowledges nothing after its data folder was removed', async () => {
    await rename(join(parley.data, 'parley.db'), join(parley.data, 'moved.db'));
    assert.equal((await createConversation()).status, 200, 'a moved file still keeps what is written');
    await rename(join(parley.data, 'moved.db'), join(parley.data, 'parley.db'));
    await rm(parley.data, { recursive: true });
    const upload = new FormData();
    upload.append('purpose', 'batch');
    upload.append('file', new Blob(['{}']), 'a.jsonl');
    const headers = { authorization: `Bearer ${parley.key}` };
    for (const response of [
      await createConversation(),
      await fetch(`${parley.baseUrl}/files`, { method: 'POST', headers, body: upload }),
    ]) {
      assert.equal(response.status, 503);
      assert.match(await response.text(), /The database of the service was removed/);
    }
    const { status, report } = await getReady();
    assert.equal(status, 503);
    assert.match(report.reason ?? JSON.stringify(report), /was removed while it was open/);
    await mkdir(parley.data); // `stop` removes it
  });
});
