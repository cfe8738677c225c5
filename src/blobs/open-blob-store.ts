import { ServiceError } from '../core/error.ts';
import type { UnverifiedBlobStore } from './blob-store.ts';
import { openDiskBlobStore } from './disk-blob-store.ts';
import type { S3Credentials, S3Options } from './s3-client.ts';

export interface BlobStoreOptions {
  /**
   * `s3://bucket/prefix?endpoint=https://…&region=…&pathStyle=true`; only the bucket is required. It must not contain
   * credentials. Absent: blobs are stored on disk.
   */
  readonly url?: string | undefined;
  /** Names the URL in errors. Default: `The setting blobs.url`. */
  readonly urlLabel?: string | undefined;
  /** Folder of the blobs on disk, or of waiting upload parts with S3. Created if it is missing. */
  readonly folder: string;
  /** Provides AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_DEFAULT_REGION. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** @throws ServiceError `invalid-request` that names the mistake in the URL; errors of the stores. */
export async function openBlobStore({
  url,
  urlLabel,
  folder,
  environment,
}: BlobStoreOptions): Promise<UnverifiedBlobStore> {
  if (url === undefined) return openDiskBlobStore({ folder });
  const options = parseBlobsUrl(url, environment, createUrlErrors(urlLabel));
  // Loaded only if it is used: the S3 client takes a tenth of the time to load the service.
  const { openS3BlobStore } = await import('./s3-blob-store.ts');
  return openS3BlobStore(options, folder);
}

const URL_PARAMETERS: ReadonlySet<string> = new Set(['endpoint', 'region', 'pathStyle']);

/** Bucket names that all S3-compatible services accept. */
const BUCKET_NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

type CreateUrlError = (problem: string) => ServiceError;

/** @throws ServiceError `invalid-request` that names the mistake in the URL. */
function parseBlobsUrl(
  text: string,
  environment: BlobStoreOptions['environment'],
  createUrlError: CreateUrlError,
): S3Options {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 's3:') throw createUrlError('must start with s3://');
  if (url.username !== '' || url.password !== '') {
    throw createUrlError(
      'must not contain credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment instead',
    );
  }
  if (!BUCKET_NAME.test(url.hostname) || url.port !== '')
    throw createUrlError('must name a bucket, e.g. s3://bucket/prefix');
  for (const name of url.searchParams.keys()) {
    if (!URL_PARAMETERS.has(name))
      throw createUrlError(
        `has the unknown parameter ${name}; supported parameters: ${[...URL_PARAMETERS].join(', ')}`,
      );
  }
  const prefix = parsePrefix(url.pathname, createUrlError);
  return {
    bucket: url.hostname,
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint: parseEndpoint(url.searchParams.get('endpoint'), createUrlError),
    region: url.searchParams.get('region') ?? environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION,
    isPathStyle: parsePathStyle(url.searchParams.get('pathStyle'), createUrlError),
    credentials: readCredentials(environment),
  };
}

function parsePrefix(path: string, createUrlError: CreateUrlError): string {
  try {
    return decodeURIComponent(path).replace(/^\/+|\/+$/g, '');
  } catch {
    throw createUrlError('has a prefix with invalid percent-encoding');
  }
}

function parseEndpoint(text: string | null, createUrlError: CreateUrlError): string | undefined {
  if (text === null) return undefined;
  const endpoint = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain =
    endpoint && ['http:', 'https:'].includes(endpoint.protocol) && `${endpoint.username}${endpoint.search}` === '';
  if (!isPlain)
    throw createUrlError(
      'has an invalid endpoint; it must be an http:// or https:// URL without credentials and query',
    );
  return text;
}

function parsePathStyle(text: string | null, createUrlError: CreateUrlError): boolean | undefined {
  if (text === null) return undefined;
  if (text !== 'true' && text !== 'false') throw createUrlError('has an invalid pathStyle; it must be true or false');
  return text === 'true';
}

function readCredentials(environment: BlobStoreOptions['environment']): S3Credentials | undefined {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  if (!accessKeyId || !secretAccessKey) return undefined;
  return { accessKeyId, secretAccessKey, sessionToken: environment.AWS_SESSION_TOKEN };
}

const createUrlErrors =
  (label = 'The setting blobs.url'): CreateUrlError =>
  (problem) =>
    new ServiceError('invalid-request', `${label} ${problem}.`);
