import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import OpenAI, { BadRequestError, NotFoundError, toFile } from 'openai';
import { type Parley, startParley } from './harness.ts';

const runProgram = promisify(execFile);
const LINE = '{"custom_id": "1"}\n';

describe('files with the openai client for Node and with curl', () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.key, maxRetries: 0, timeout: 60_000 });
  });
  after(() => parley?.stop());

  test('uploads, lists, retrieves, reads and deletes a file', async () => {
    const created = await client.files.create({
      file: await toFile(Buffer.from(LINE), 'ü 日本.jsonl'),
      purpose: 'batch',
    });
    const { bytes, filename, purpose, status } = created;
    assert.deepEqual([bytes, filename, purpose, status], [LINE.length, 'ü 日本.jsonl', 'batch', 'processed']);
    assert.deepEqual(await client.files.retrieve(created.id), created);
    const ids: string[] = [];
    for await (const { id } of client.files.list({ purpose: 'batch' })) ids.push(id);
    assert.deepEqual(ids, [created.id]);
    assert.equal(await (await client.files.content(created.id)).text(), LINE);
    assert.equal((await client.files.delete(created.id)).deleted, true);
    await assert.rejects(client.files.retrieve(created.id), NotFoundError);
    await assert.rejects(client.files.content(created.id), NotFoundError);
  });

  test('uploads megabytes from a stream, and goes through all pages while deleting', async () => {
    const path = join(parley.data, 'large.bin');
    const bytes = Buffer.alloc(5 * 1024 * 1024, 'parley');
    await writeFile(path, bytes);
    for (let at = 0; at < 5; at += 1) await client.files.create({ file: createReadStream(path), purpose: 'fine-tune' });
    await rm(path);
    let deletedCount = 0;
    for await (const { id, bytes: size } of client.files.list({ limit: 2 })) {
      deletedCount += 1;
      assert.equal(size, bytes.length);
      await client.files.delete(id);
    }
    assert.deepEqual([deletedCount, (await client.files.list()).data], [5, []]);
  });

  test('uploads a file in parts', async () => {
    const bytes = Buffer.alloc(1_000_003, 'parley');
    const { id, status } = await client.uploads.create({
      bytes: bytes.length,
      filename: 'ü.jsonl',
      mime_type: 'application/jsonl',
      purpose: 'batch',
    });
    assert.equal(status, 'pending');
    const partIds: string[] = [];
    for (const piece of [bytes.subarray(0, 600_000), bytes.subarray(600_000)]) {
      const part = await client.uploads.parts.create(id, { data: await toFile(piece, 'piece') });
      assert.equal(part.upload_id, id);
      partIds.push(part.id);
    }
    const md5 = createHash('md5').update(bytes).digest('hex');
    const completed = await client.uploads.complete(id, { part_ids: partIds, md5 });
    const file = completed.file ?? assert.fail();
    assert.deepEqual(
      [completed.status, file.filename, file.bytes, file.status],
      ['completed', 'ü.jsonl', bytes.length, 'processed'],
    );
    assert.ok(Buffer.from(await (await client.files.content(file.id)).arrayBuffer()).equals(bytes));
    await client.files.delete(file.id);
    await assert.rejects(
      client.uploads.cancel(id),
      (error) => error instanceof BadRequestError && error.param === 'upload_id',
    );
  });

  test('raises BadRequestError for a bad purpose, and names it', async () => {
    const file = await toFile(Buffer.from('x'), 'x');
    await assert.rejects(
      client.files.create({ file, purpose: 'assistants' }),
      (error) => error instanceof BadRequestError && error.param === 'purpose',
    );
  });

  test('uploads several files with descriptions by curl -F, and downloads from the returned URL', async () => {
    const [one, two, got] = ['one.txt', 'two "2".bin', 'got'].map((name) => join(parley.data, name));
    assert.ok(one !== undefined && two !== undefined && got !== undefined);
    await writeFile(one, 'one');
    const bytes = Buffer.alloc(3_000_000, 7);
    await writeFile(two, bytes);
    const curl = async (...args: readonly string[]) =>
      (await runProgram('curl', ['-sS', '--fail-with-body', '-H', `Authorization: Bearer ${parley.key}`, ...args]))
        .stdout;
    const files = `${parley.address}/api/v1/files`;
    const form = [
      `files=@${one}`,
      `files=@"${two.replaceAll('"', String.raw`\"`)}"`,
      'descriptions=1',
      'descriptions=2',
      'purpose=file-extract',
    ];
    const uploaded = JSON.parse(await curl(...form.flatMap((part) => ['-F', part]), files)) as {
      data: { uploaded_files: { name: string; file_id: string }[] };
    };
    assert.deepEqual(
      uploaded.data.uploaded_files.map(({ name }) => name),
      ['one.txt', 'two "2".bin'],
    );
    const id = uploaded.data.uploaded_files[1]?.file_id;
    const { data } = JSON.parse(await curl(`${files}/${id}`)) as {
      data: { url: string; md5: string; description: string };
    };
    assert.deepEqual([data.description, data.md5], ['2', createHash('md5').update(bytes).digest('hex')]);
    await runProgram('curl', ['-sS', '--fail', '-o', got, data.url]);
    assert.ok((await readFile(got)).equals(bytes));
  });
});
