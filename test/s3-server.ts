import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../src/engines/free-port.ts';
import { until } from './until.ts';

/** What `.ci/run` builds. */
const PROGRAM = fileURLToPath(new URL('../.cache/s3-server/versitygw', import.meta.url));

/** Why tests with it are skipped, or false. */
export const lacksS3Server = (): string | false =>
  existsSync(PROGRAM) ? false : 'no .cache/s3-server/versitygw (.ci/run builds it)';

export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Ends it as the kernel would. */
  kill(): void;
  close(): Promise<void>;
}

const STARTS_WITHIN_MS = 30_000;

const BUCKET = 'blobs';

/** Another program may take a port between its choice and its use. */
const PORTS_TRIED_MAX = 4;

/** A real S3 server, on loopback and in a folder of its own, with one bucket. */
export async function startS3Server(): Promise<S3Server> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await startAt(await freePort());
    } catch (error) {
      if (tried === PORTS_TRIED_MAX) throw error;
    }
  }
}

/** @throws where it ends early, as on a port that is taken; and where somebody else answers there. */
async function startAt(port: number): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-s3-'));
  // Beside the objects: not every file system that tests run on keeps attributes of files.
  const [objects, sidecar] = [join(folder, 'objects'), join(folder, 'sidecar')];
  await Promise.all([mkdir(objects), mkdir(sidecar)]);
  const endpoint = `http://127.0.0.1:${port}`;
  // No other server of the tests takes these: what makes the bucket is this one.
  const credentials = { accessKeyId: `parley-tests-${randomUUID()}`, secretAccessKey: 'a secret of no value' };
  const child = spawn(PROGRAM, ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar', sidecar, objects], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ROOT_ACCESS_KEY_ID: credentials.accessKeyId, ROOT_SECRET_ACCESS_KEY: credentials.secretAccessKey },
  });
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    await rm(folder, { recursive: true });
  };
  try {
    await until('the S3 server listens', { withinMs: STARTS_WITHIN_MS }, async () => {
      assert.equal(child.exitCode ?? child.signalCode, null, 'the S3 server ended early');
      const answer = await fetch(endpoint, { signal: AbortSignal.timeout(STARTS_WITHIN_MS) }).catch(() => undefined);
      return answer?.headers.get('server') === 'VERSITYGW' ? true : undefined;
    });
    const client = new S3Client({ endpoint, credentials, region: 'us-east-1', forcePathStyle: true });
    await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
    client.destroy();
  } catch (error) {
    await close();
    throw error;
  }
  return { endpoint, bucket: BUCKET, credentials, kill: () => void child.kill('SIGKILL'), close };
}
