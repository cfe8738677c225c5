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

/** Size of the file in MiB. The specification allows 1024. */
const SIZE_MIB = Number(process.env['PARLEY_TEST_FILE_MIB'] ?? 512);

/** Extra memory in MiB for a file of any size: about a quarter when idle; a busy machine collects garbage late. */
const EXTRA_MIB_MAX = 192;

/** Creates one MiB of the file; each MiB has different content. */
const createPiece = (index: number): Buffer => Buffer.alloc(MIB, `parley ${index} `);

const HEAD = '--b\r\ncontent-disposition: form-data; name="files"; filename="x.bin"\r\n\r\n';
const TAIL = '\r\n--b--\r\n';

describe('memory for a large file', { skip: platform() !== 'linux' && 'needs /proc' }, () => {
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

  /** Uploads without an announced length, as fast as the service accepts the bytes. */
  async function upload(mib: number, measure: () => Promise<void>): Promise<string> {
    const headers = { authorization: authorization(), 'content-type': 'multipart/form-data; boundary=b' };
    const outgoing = request(`${parley.address}/api/v1/files`, { method: 'POST', headers });
    const responded = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    outgoing.write(HEAD);
    for (let index = 0; index < mib; index += 1) {
      if (!outgoing.write(createPiece(index))) await once(outgoing, 'drain');
      if (index % 8 === 0) await measure();
    }
    outgoing.end(TAIL);
    const [response] = await responded;
    const body = (await response.setEncoding('utf8').toArray()).join('');
    return /"file_id":"([^"]+)"/.exec(body)?.[1] ?? assert.fail(body);
  }

  /** Downloads more slowly than the disk could be read. */
  async function download(id: string, measure: () => Promise<void>): Promise<{ size: number; md5: string }> {
    const headers = { authorization: authorization() };
    const hash = createHash('md5');
    const outgoing = request(`${parley.address}/v1/files/${id}/content`, { headers }).end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    let size = 0;
    let measuredAt = 0;
    for await (const piece of response as AsyncIterable<Buffer>) {
      size += piece.length;
      hash.update(piece);
      if (size - measuredAt < 8 * MIB) continue;
      measuredAt = size;
      await measure();
    }
    return { size, md5: hash.digest('hex') };
  }

  test('stays far below the size of the file for an upload and a download', { timeout: 300_000 }, async () => {
    let peakMib = 0;
    const measure = async (): Promise<void> => {
      peakMib = Math.max(peakMib, await residentMib());
    };
    const mibBefore = await residentMib();
    peakMib = 0;
    const id = await upload(SIZE_MIB, measure);
    const uploadPeakMib = peakMib;
    peakMib = 0;
    const uploadHash = createHash('md5');
    for (let index = 0; index < SIZE_MIB; index += 1) uploadHash.update(createPiece(index));
    assert.deepEqual(await download(id, measure), { size: SIZE_MIB * MIB, md5: uploadHash.digest('hex') });
    const extraMib = [uploadPeakMib, peakMib].map((mib) => Math.round(mib - mibBefore));
    assert.ok(
      extraMib.every((mib) => mib < EXTRA_MIB_MAX),
      `${extraMib.join(' and ')} MiB above ${Math.round(mibBefore)}`,
    );
    if (process.env['PARLEY_TEST_FILE_MIB'])
      process.stdout.write(`extra MiB for upload and download: ${extraMib.join(' and ')}\n`);
  });
});
