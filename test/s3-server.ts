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
import { findFreePort } from '../src/engines/find-free-port.ts';
import { until } from './until.ts';

/** The program that `.ci/run` builds. */
const PROGRAM = fileURLToPath(new URL('../.cache/s3-server/versitygw', import.meta.url));

/** Returns why tests with the S3 server are skipped, or false if they can run. */
export const getS3ServerSkipReason = (): string | false =>
  existsSync(PROGRAM) ? false : 'no .cache/s3-server/versitygw (.ci/run builds it)';

export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Kills the server with SIGKILL. */
  kill(): void;
  close(): Promise<void>;
}

const START_MS_MAX = 30_000;

const BUCKET = 'blobs';

/** Attempts to find a free port: another program may take a port between its choice and its use. */
const PORT_ATTEMPTS_MAX = 4;

/** Starts a real S3 server on loopback, in a folder of its own, with one bucket. */
export async function startS3Server(): Promise<S3Server> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnPort(await findFreePort());
    } catch (error) {
      if (attempt === PORT_ATTEMPTS_MAX) throw error;
    }
  }
}

/** @throws if the server exits early, for example because the port is taken, or if another program answers there. */
async function startOnPort(port: number): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-s3-'));
  // The folders are siblings because not every file system supports the extended attributes that the server would use.
  const [objects, sidecar] = [join(folder, 'objects'), join(folder, 'sidecar')];
  await Promise.all([mkdir(objects), mkdir(sidecar)]);
  const endpoint = `http://127.0.0.1:${port}`;
  // These credentials are unique, so a bucket can be created on this server only.
  const credentials = { accessKeyId: `parley-tests-${randomUUID()}`, secretAccessKey: 'a secret of no value' };
  const child = spawn(PROGRAM, ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', '--sidecar', sidecar, objects], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ROOT_ACCESS_KEY_ID: credentials.accessKeyId, ROOT_SECRET_ACCESS_KEY: credentials.secretAccessKey },
  });
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
    await rm(folder, { recursive: true });
  };
  try {
    await until('the S3 server listens', { timeoutMs: START_MS_MAX }, async () => {
      assert.equal(child.exitCode ?? child.signalCode, null, 'the S3 server ended early');
      const answer = await fetch(endpoint, { signal: AbortSignal.timeout(START_MS_MAX) }).catch(() => undefined);
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
