import { ServiceError } from '../core/error.ts';
import type { BlobStore } from './blob-store.ts';
import { openDisk } from './disk.ts';
import { openS3 } from './s3.ts';
import type { S3Credentials, S3Options } from './s3-client.ts';

export interface BlobsOptions {
  /**
   * `s3://bucket/prefix?endpoint=https://…&region=…&pathStyle=true`, all but the bucket optional. Absent: on disk.
   * Credentials never stand in it.
   */
  readonly url?: string | undefined;
  /** Where blobs lie on disk, or parts of those wait that go into a bucket; made when it is not there. */
  readonly folder: string;
  /** Where AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION are looked for. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** @throws ServiceError `invalid-request` that says what is wrong with the url; `internal` as the stores do. */
export async function openBlobs({ url, folder, environment }: BlobsOptions): Promise<BlobStore> {
  return url === undefined ? openDisk({ folder }) : openS3(parseBlobsUrl(url, environment), folder);
}

const PARAMETERS: ReadonlySet<string> = new Set(['endpoint', 'region', 'pathStyle']);

/** What every maker's buckets may be called. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/** @throws as `openBlobs`. */
function parseBlobsUrl(text: string, environment: BlobsOptions['environment']): S3Options {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 's3:') throw refused('must begin with s3://');
  if (url.username !== '' || url.password !== '') {
    throw refused('must not hold credentials: they belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  }
  if (!BUCKET.test(url.hostname) || url.port !== '') throw refused('names no bucket, as in s3://bucket/prefix');
  for (const name of url.searchParams.keys()) {
    if (!PARAMETERS.has(name)) throw refused(`has a parameter ${name}; there are ${[...PARAMETERS].join(', ')}`);
  }
  const prefix = prefixOf(url.pathname);
  return {
    bucket: url.hostname,
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint: endpointOf(url.searchParams.get('endpoint')),
    region: url.searchParams.get('region') ?? environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION,
    isPathStyle: flagOf(url.searchParams.get('pathStyle')),
    credentials: credentialsIn(environment),
  };
}

function prefixOf(path: string): string {
  try {
    return decodeURIComponent(path).replace(/^\/+|\/+$/g, '');
  } catch {
    throw refused('has a prefix that cannot be read');
  }
}

function endpointOf(text: string | null): string | undefined {
  if (text === null) return undefined;
  const endpoint = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain =
    endpoint && ['http:', 'https:'].includes(endpoint.protocol) && `${endpoint.username}${endpoint.search}` === '';
  if (!isPlain) throw refused('has an endpoint that is no address with http:// or https://, or one with credentials');
  return text;
}

function flagOf(text: string | null): boolean | undefined {
  if (text === null) return undefined;
  if (text !== 'true' && text !== 'false') throw refused('has a pathStyle that is neither true nor false');
  return text === 'true';
}

function credentialsIn(environment: BlobsOptions['environment']): S3Credentials | undefined {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  if (!accessKeyId || !secretAccessKey) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken: environment.AWS_SESSION_TOKEN };
}

const refused = (what: string): ServiceError => new ServiceError('invalid-request', `The url of blobs ${what}.`);
