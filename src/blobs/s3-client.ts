import { S3Client } from '@aws-sdk/client-s3';
import { S3_CONNECT_MS, S3_HEAD_MS, S3_IDLE_MS, S3_SOCKETS_MAX } from './limits.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface S3Options {
  readonly bucket: string;
  /** Prefix of every key, e.g. `parley/`. This store owns all objects under it. Empty: it owns the whole bucket. */
  readonly prefix: string;
  /** Default: the endpoint of AWS for the region. */
  readonly endpoint?: string | undefined;
  /** Default: us-east-1, which S3-compatible servers accept as any region. */
  readonly region?: string | undefined;
  /** Default: credentials that the AWS client finds itself, e.g. the role of the machine or a profile. */
  readonly credentials?: S3Credentials | undefined;
  /** Whether the bucket is part of the path instead of the host name. Default: true if `endpoint` is set. */
  readonly isPathStyle?: boolean | undefined;
}

const DEFAULT_REGION = 'us-east-1';

export function createS3Client({ endpoint, region, credentials, isPathStyle }: S3Options): S3Client {
  return new S3Client({
    region: region ?? DEFAULT_REGION,
    forcePathStyle: isPathStyle ?? endpoint !== undefined,
    // Newer checksums are sent as trailers of a chunked body, which many S3-compatible servers reject. The signature
    // covers
    // the bytes of a part anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // 100-continue would delay each part by a round trip.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: S3_CONNECT_MS,
      requestTimeout: S3_HEAD_MS,
      throwOnRequestTimeout: true,
      socketTimeout: S3_IDLE_MS,
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
