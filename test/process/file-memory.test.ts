import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import { platform } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import type { Parley } from '../clients/harness.ts';

const MIB = 1024 * 1024;

/** Of the file; 1024 is what the specification allows. */
const SIZE_MIB = Number(process.env['PARLEY_TEST_FILE_MIB'] ?? 512);

/** What a file of whatever size may cost the process besides: at rest a quarter of it; on a busy machine garbage is collected late. */
const EXTRA_MIB_MAX = 192;

/** One MiB of the file, of which each is another. */
const pieceAt = (at: number): Buffer => Buffer.alloc(MIB, `parley ${at} `);

const HEAD = '--b\r\ncontent-disposition: form-data; name="files"; filename="x.bin"\r\n\r\n';
const TAIL = '\r\n--b--\r\n';

describe('a file that is much larger than what it may cost', { skip: platform() !== 'linux' && 'needs /proc' }, () => {
  let parley: Parley;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
  });
  after(() => parley?.stop());

  const residentMib = async (): Promise<number> => {
    const status = await readFile(`/proc/${parley.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  };
  const authorization = (): string => `Bearer ${parley.key}`;

  /** Without an announced length, as fast as it is taken. */
  async function upload(mib: number, look: () => Promise<void>): Promise<string> {
    const headers = { authorization: authorization(), 'content-type': 'multipart/form-data; boundary=b' };
    const outgoing = request(`${parley.address}/api/v1/files`, { method: 'POST', headers });
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    outgoing.write(HEAD);
    for (let at = 0; at < mib; at += 1) {
      if (!outgoing.write(pieceAt(at))) await once(outgoing, 'drain');
      if (at % 8 === 0) await look();
    }
    outgoing.end(TAIL);
    const [response] = await answered;
    const told = (await response.setEncoding('utf8').toArray()).join('');
    return /"file_id":"([^"]+)"/.exec(told)?.[1] ?? assert.fail(told);
  }

  /** At a reader's pace that is slower than the disk's. */
  async function download(id: string, look: () => Promise<void>): Promise<{ size: number; md5: string }> {
    const headers = { authorization: authorization() };
    const hash = createHash('md5');
    const outgoing = request(`${parley.address}/v1/files/${id}/content`, { headers }).end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    let size = 0;
    let looked = 0;
    for await (const piece of response as AsyncIterable<Buffer>) {
      size += piece.length;
      hash.update(piece);
      if (size - looked < 8 * MIB) continue;
      looked = size;
      await look();
    }
    return { size, md5: hash.digest('hex') };
  }

  test('goes in and out with less than that, the first of its process too', { timeout: 300_000 }, async () => {
    let most = 0;
    const look = async (): Promise<void> => {
      most = Math.max(most, await residentMib());
    };
    const before_ = await residentMib();
    most = 0;
    const id = await upload(SIZE_MIB, look);
    const uploadMost = most;
    most = 0;
    const sent = createHash('md5');
    for (let at = 0; at < SIZE_MIB; at += 1) sent.update(pieceAt(at));
    assert.deepEqual(await download(id, look), { size: SIZE_MIB * MIB, md5: sent.digest('hex') });
    const extra = [uploadMost, most].map((mib) => Math.round(mib - before_));
    assert.ok(
      extra.every((mib) => mib < EXTRA_MIB_MAX),
      `${extra.join(' and ')} MiB more than ${Math.round(before_)}`,
    );
    if (process.env['PARLEY_TEST_FILE_MIB']) process.stdout.write(`extra MiB, up and down: ${extra.join(' and ')}\n`);
  });
});
