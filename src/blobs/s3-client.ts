import { S3Client } from '@aws-sdk/client-s3';
import { S3_CONNECT_MS, S3_HEAD_MS, S3_SILENCE_MS, S3_SOCKETS_MAX } from '../core/limits.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface S3Options {
  readonly bucket: string;
  /** Of every key, e.g. `parley/`. What lies under it belongs to this store alone. Empty: the whole bucket does. */
  readonly prefix: string;
  /** Default: that of AWS for the region. */
  readonly endpoint?: string | undefined;
  /** Default: us-east-1, which servers of other makers take for any. */
  readonly region?: string | undefined;
  /** Default: what the client finds for itself, as the role of the machine or a profile. */
  readonly credentials?: S3Credentials | undefined;
  /** Whether the bucket stands in the path and not in the host's name. Default: where there is an endpoint. */
  readonly isPathStyle?: boolean | undefined;
}

const REGION = 'us-east-1';

export function createS3Client({ endpoint, region, credentials, isPathStyle }: S3Options): S3Client {
  return new S3Client({
    region: region ?? REGION,
    forcePathStyle: isPathStyle ?? endpoint !== undefined,
    // Newer checksums are trailers of a chunked body, which many servers of other makers refuse. The signature covers the
    // bytes of a part as it is.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // With it, each part would wait for a first answer, on a connection of its own.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: S3_CONNECT_MS,
      requestTimeout: S3_HEAD_MS,
      throwOnRequestTimeout: true,
      socketTimeout: S3_SILENCE_MS,
      httpAgent: { keepAlive: true, maxSockets: S3_SOCKETS_MAX },
      httpsAgent: { keepAlive: true, maxSockets: S3_SOCKETS_MAX },
    },
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentials === undefined
      ? {}
      : {
          credentials: {
            accessKeyId: credentials.accessKeyId,
            secretAccessKey: credentials.secretAccessKey,
            ...(credentials.sessionToken === undefined ? {} : { sessionToken: credentials.sessionToken }),
          },
        }),
  });
}
