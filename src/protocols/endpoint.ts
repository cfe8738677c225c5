import type { Readable } from 'node:stream';
import type { Owner, RequestContext } from '../core/context.ts';
import type { RegionId } from '../core/region.ts';
import type { StreamEncoder } from './stream-encoder.ts';

/** Protocol family of a path: selects the shape of errors and where credentials are read from. */
export type ProtocolFamily = 'compatible' | 'messages' | 'native';

export interface EndpointDeprecation {
  /** Unix seconds. */
  readonly since: number;
  /** Returns the replacement for a request target. */
  readonly successor: (target: string) => string;
}

/** One part of an upload, in the order in which the client sent it. */
export type UploadPart =
  | { readonly type: 'field'; readonly name: string; readonly value: string }
  | {
      readonly type: 'file';
      readonly name: string;
      /** The base name the client sent, without folders. */
      readonly fileName: string;
      /**
       * Content. Must be read before the next part is requested; unread bytes are skipped then. A chunk is valid until
       * the next chunk is requested, because its memory is reused.
       */
      readonly bytes: AsyncIterable<Uint8Array>;
    };

export interface EndpointRequest {
  /** Parsed JSON, or undefined if the request has no body. Not validated yet. */
  readonly body: unknown;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Header values by lower-case name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /**
   * The upload, in place of `body`, for an endpoint that sets `uploadBytesMax`. A stream that can be read once and may
   * be left unread. Throws ServiceError `invalid-request`, `too-large` and `cancelled`.
   */
  readonly upload?: AsyncIterable<UploadPart>;
}

/** Protocol-independent response of an endpoint; `http` writes it. */
export type Reply =
  | {
      readonly type: 'json';
      readonly status: number;
      readonly body: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly type: 'stream';
      /** Batches of the events that `encoder` accepts; the HTTP layer handles only the encoded text. */
      readonly batches: AsyncIterable<readonly unknown[]>;
      readonly encoder: StreamEncoder<unknown>;
      readonly headers?: Readonly<Record<string, string>>;
      /** Returns further headers when the head is sent, which may be after the first events. */
      readonly getLateHeaders?: () => Readonly<Record<string, string>>;
    }
  | BytesReply;

/** Bytes of known length, served whole or as a byte range. */
export interface BytesReply {
  readonly type: 'bytes';
  readonly sizeBytes: number;
  /** Entity tag: changes whenever the bytes change. */
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Opens the bytes from `start` to `end`, both inclusive. Called at most once; the caller of `open` destroys the
   * stream, which frees its chunks.
   */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
}

export interface Endpoint {
  /** Names the operation in logs and metrics, e.g. `chat-completions.create`. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Route pattern with `:name` for path parameters. A path under /compatible-mode/v1 is also served under /v1. */
  readonly path: string;
  readonly family: ProtocolFamily;
  /** Regions that offer the endpoint according to the specification. */
  readonly regions: readonly RegionId[];
  /** Set for an endpoint that clients should no longer use; every response names its successor. */
  readonly deprecated?: EndpointDeprecation;
  /** `cancel`: a client disconnect stops the work. `finish`: the work continues. */
  readonly onDisconnect: 'cancel' | 'finish';
  /**
   * Set for endpoints that take multipart/form-data instead of JSON: maximum size of the request. A larger one gets
   * 413.
   */
  readonly uploadBytesMax?: number;
  /**
   * Returns the owner of a request that carries no key.
   * @throws ServiceError `forbidden`, or the error for a missing resource.
   */
  readonly resolveOwner?: (request: Pick<EndpointRequest, 'params' | 'query'>) => Promise<Owner>;
  handle(request: EndpointRequest, context: RequestContext): Promise<Reply>;
}

export const createJsonReply = (body: unknown, headers?: Readonly<Record<string, string>>): Reply => ({
  type: 'json',
  status: 200,
  body,
  ...(headers ? { headers } : {}),
});

export function createStreamReply<Event>(
  batches: AsyncIterable<readonly Event[]>,
  encoder: StreamEncoder<Event>,
  headers?: Readonly<Record<string, string>>,
): Extract<Reply, { readonly type: 'stream' }> {
  // This signature checks that encoder and events match; the HTTP layer only passes events to the encoder.
  return { type: 'stream', batches, encoder: encoder as StreamEncoder<unknown>, ...(headers ? { headers } : {}) };
}
