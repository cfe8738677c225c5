import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { until } from '../until.ts';
import { sendAsAttacker, uploadAsAttacker } from './attacker-request.ts';
import { ATTACKER_ADDRESS, type AttackTarget, describeAttacks } from './harness.ts';

// Multipart bodies, which are read as they arrive.

const MIB = 1024 * 1024;

/** Storage of the attacker's workspace. */
const STORAGE_BYTES = 8 * MIB;

/** Uploads that break off. */
const BROKEN_UPLOADS = 1_000;

const FIELD = '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n';

/** Bodies with the boundary `b`, or the given one, that the service must refuse with 400. */
const BODIES: readonly (readonly [name: string, body: () => string, boundary?: string])[] = [
  ['100,000 fields', () => `${FIELD.repeat(100_000)}--b--\r\n`],
  [
    '100,000 files',
    () => `${'--b\r\ncontent-disposition: form-data; name="x"; filename="f"\r\n\r\n\r\n'.repeat(100_000)}--b--\r\n`,
  ],
  ['a part with endless headers', () => `--b\r\n${'x-header: value\r\n'.repeat(500_000)}`],
  ['a header of 4 MB', () => `--b\r\nx-header: ${'a'.repeat(4 * MIB)}`],
  ['a field of 4 MB', () => `${FIELD.slice(0, -2)}${'a'.repeat(4 * MIB)}\r\n--b--`],
  ['no closing boundary', () => FIELD.repeat(100)],
  ['no boundary at all', () => '-'.repeat(4 * MIB)],
  ['beginnings of a boundary', () => `--b\r\n\r\n${'\r\n--'.repeat(MIB)}`],
  ['a boundary of 10,000 characters', () => '', 'b'.repeat(10_000)],
];

const sendBody = (target: AttackTarget, body: string, boundary = 'b') =>
  sendAsAttacker(target, {
    path: '/compatible-mode/v1/files',
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    body,
  });

/** Sends the start of an upload of 4 MiB and 100 KB of its file, then breaks the connection. */
async function breakUpload({ port, key, signal }: AttackTarget): Promise<void> {
  const socket: Socket = connect({ port, host: '127.0.0.1', localAddress: ATTACKER_ADDRESS });
  signal.addEventListener('abort', () => socket.destroy(), { once: true });
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  const head = [
    'POST /compatible-mode/v1/files HTTP/1.1',
    'host: 127.0.0.1',
    `authorization: Bearer ${key}`,
    'content-type: multipart/form-data; boundary=b',
    `content-length: ${4 * MIB}`,
    '\r\n',
  ].join('\r\n');
  socket.write(`${head}--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n`);
  socket.write(Buffer.alloc(100_000), () => socket.destroy());
  await closed;
}

const listFiles = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true })).flatMap((entry) =>
    entry.isFile() ? join(entry.parentPath, entry.name) : [],
  );

const config = `files: { totalBytesMax: ${STORAGE_BYTES} }\n`;

describeAttacks('attacks with uploads', { config }, [
  {
    name: '100,000 fields or files, endless headers, long and missing boundaries',
    async run(target) {
      const results = await Promise.all(
        BODIES.map(async ([name, createBody, boundary]) => {
          const { status } = await sendBody(target, createBody(), boundary);
          return `${name}: ${status}`;
        }),
      );
      assert.deepEqual(
        results,
        BODIES.map(([name]) => `${name}: 400`),
      );
    },
  },
  {
    name: '1,000 uploads that break off, 50 at a time',
    async run(target) {
      const folder = join(target.parley.data, 'blobs');
      const before = await listFiles(folder);
      for (let sent = 0; sent < BROKEN_UPLOADS; sent += 50)
        await Promise.all(Array.from({ length: 50 }, () => breakUpload(target)));
      await until('the parts of broken uploads are gone', { timeoutMs: 20_000 }, async () =>
        (await listFiles(folder)).length === before.length ? true : undefined,
      );
      const bytes = Buffer.alloc(STORAGE_BYTES - MIB);
      const upload = { fields: { purpose: 'batch' }, fileName: 'whole.jsonl', bytes };
      const { status, text } = await uploadAsAttacker(target, upload);
      assert.equal(status, 200, `the storage of broken uploads must be free again: ${text}`);
    },
  },
]);
