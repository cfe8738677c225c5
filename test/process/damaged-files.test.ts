import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { changeDiskBlob, flipBitAt } from '../../src/blobs/__fixtures__/change-disk-blob.ts';
import { BLOB_BLOCK_BYTES } from '../../src/blobs/limits.ts';
import { runParleyCheck } from './__fixtures__/run-parley-check.ts';
import { startParley, type ParleyProcess } from '../clients/harness.ts';
import { until } from '../until.ts';

describe('a service whose stored files are damaged', () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
  });
  after(() => parley.stop());

  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${parley.baseUrl}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${parley.key}`, ...(init.headers as Record<string, string> | undefined) },
    });

  const upload = async (bytes: Uint8Array<ArrayBuffer>, name = 'a.jsonl'): Promise<string> => {
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob([bytes]), name);
    const { id } = (await (await call('/files', { method: 'POST', body: form })).json()) as { id: string };
    return id;
  };

  /** Changes the stored bytes of a file behind the service's back. @returns the name of its blob. */
  const damage = async (id: string, change: (bytes: Buffer) => Buffer | undefined): Promise<string> => {
    const database = new DatabaseSync(join(parley.data, 'parley.db'), { readOnly: true });
    const blob = String(database.prepare('select blob from files where id = ?').get(id)?.['blob']);
    database.close();
    await changeDiskBlob(join(parley.data, 'blobs'), blob, change);
    return blob;
  };

  const countDamage = async (): Promise<number> => {
    const text = await (await fetch(`${parley.address}/metrics`)).text();
    return Number(/^parley_damaged_data_total\{data="blob"\} (\d+)$/m.exec(text)?.[1]);
  };

  it('never delivers all bytes, logs the blob with both hashes, and counts it', async () => {
    const bytes = Buffer.alloc(4 * BLOB_BLOCK_BYTES, 'parley ');
    const id = await upload(bytes);
    const blob = await damage(id, flipBitAt(3 * BLOB_BLOCK_BYTES));
    const countBefore = await countDamage();

    const response = await call(`/files/${id}/content`);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-length'), String(bytes.length));
    let received = 0;
    await assert.rejects(async () => {
      for await (const chunk of response.body ?? []) received += (chunk as Uint8Array).byteLength;
    });
    assert.ok(received <= 3 * BLOB_BLOCK_BYTES, `${received} bytes were delivered`);

    const output = await parley.waitForOutput(/stored file is damaged/);
    const line = output.split('\n').find((each) => each.includes('stored file is damaged')) ?? '';
    for (const fact of [blob, `${3 * BLOB_BLOCK_BYTES}`, 'expected', 'found', 'sha256', 'parley check'])
      assert.ok(line.includes(fact), `${fact} is missing in ${line}`);
    assert.equal((await countDamage()) - countBefore, 1);

    const { code, result } = await runParleyCheck(parley.data);
    assert.deepEqual([code, result?.ok, result?.problems.length], [1, false, 1]);
    assert.equal(result?.problems[0]?.subject, `file ${id} (blob ${blob})`);

    // The other blocks are intact.
    const part = await call(`/files/${id}/content`, { headers: { range: 'bytes=1-70000' } });
    assert.equal(part.status, 206);
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(1, 70_001)));
  });

  for (const [name, change] of [
    ['with a flipped bit', flipBitAt(2)],
    ['that was cut', (bytes: Buffer) => bytes.subarray(0, 1)],
    ['that is lost', () => undefined],
  ] as const) {
    it(`answers 500 for a small file ${name}`, async () => {
      const id = await upload(Buffer.from('{"a":1}\n'));
      await damage(id, change);
      const response = await call(`/files/${id}/content`);
      assert.equal(response.status, 500);
      const { error } = (await response.json()) as { error: { message: string } };
      assert.match(error.message, /stored bytes of the file are damaged or lost\. Upload the file again/);
      assert.equal((await call(`/files/${id}`, { method: 'DELETE' })).status, 200);
    });
  }

  it('fails a batch with the name of its damaged input file', async () => {
    const body = { model: 'svc-plus', messages: [{ role: 'user', content: 'hi' }] };
    const line = JSON.stringify({ custom_id: '1', method: 'POST', url: '/v1/chat/completions', body });
    const id = await upload(Buffer.from(`${line}\n`));
    await damage(id, flipBitAt(line.indexOf('hi')));
    const created = await call('/batches', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' }),
    });
    const { id: batchId } = (await created.json()) as { id: string };
    const batch = await until('the batch has ended', { timeoutMs: 60_000 }, async () => {
      const found = (await (await call(`/batches/${batchId}`)).json()) as {
        status: string;
        errors?: { data: { code: string; message: string }[] };
      };
      return ['failed', 'completed'].includes(found.status) ? found : undefined;
    });
    assert.equal(batch.status, 'failed');
    assert.equal(batch.errors?.data[0]?.code, 'file_damaged');
    assert.ok(batch.errors?.data[0]?.message.includes(id), JSON.stringify(batch.errors));
  });
});
