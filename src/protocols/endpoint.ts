import type { Readable } from 'node:stream';
import type { Owner, RequestContext } from '../core/context.ts';
import type { RegionId } from '../core/region.ts';
import type { StreamEncoder } from './stream-encoder.ts';

/** Which error shape and which credentials a path has. */
export type Family = 'compatible' | 'messages' | 'native';

export interface Deprecation {
  /** Unix seconds. */
  readonly since: number;
  /** Of a request's own target. */
  readonly successor: (target: string) => string;
}

/** One part of an upload, in the order in which they were sent. */
export type UploadPart =
  | { readonly type: 'field'; readonly name: string; readonly value: string }
  | {
      readonly type: 'file';
      readonly name: string;
      /** As it was sent: a name, and nothing that leads anywhere. */
      readonly fileName: string;
      /**
       * To be read before the next part is asked for; what is left of it then is passed over. A piece is good until the
       * next is asked for: its memory is given back then.
       */
      readonly bytes: AsyncIterable<Uint8Array>;
    };

export interface EndpointRequest {
  /** Parsed JSON, or undefined where there is no body. Not validated yet. */
  readonly body: unknown;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /**
   * Of an endpoint that takes uploads, in the place of a body. It is read as it comes in, once; it throws ServiceError
   * `invalid-request`, `too-large` and `cancelled`. Where it is not read to its end, nobody has to.
   */
  readonly upload?: AsyncIterable<UploadPart>;
}

/** What an endpoint wants said; `http` says it. */
export type Reply =
  | {
      readonly type: 'json';
      readonly status: number;
      readonly body: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly type: 'stream';
      /** Already bound to its source: the pump knows bytes only. */
      readonly batches: AsyncIterable<readonly unknown[]>;
      readonly encoder: StreamEncoder<unknown>;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | BytesReply;

/** Bytes that are there as a whole, for whoever wants all or a range of them. */
export interface BytesReply {
  readonly type: 'bytes';
  readonly sizeBytes: number;
  /** Changes with the bytes. */
  readonly tag: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the bytes from `start` to `end`, both included. Asked at most once; whoever asked ends it, and gives back the memory of its chunks. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
}

export interface Endpoint {
  /** Names the operation in logs and metrics, e.g. `chat-completions.create`. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `:name` for path parameters. A path under /compatible-mode/v1 is also served under /v1. */
  readonly path: string;
  readonly family: Family;
  /** Where the specification offers it. */
  readonly regions: readonly RegionId[];
  /** Served for callers who know no better; every answer names what took its place. */
  readonly deprecated?: Deprecation;
  /** `cancel`: the work stops when the caller leaves. `finish`: it goes on. */
  readonly onDisconnect: 'cancel' | 'finish';
  /** It takes multipart/form-data, and no JSON: at most so many bytes in all. Beyond: 413. */
  readonly uploadBytesMax?: number;
  /** Says whose request it is where no key does. @throws ServiceError `forbidden`, and for what is not there. */
  readonly ownerOf?: (request: Pick<EndpointRequest, 'params' | 'query'>) => Promise<Owner>;
  handle(request: EndpointRequest, context: RequestContext): Promise<Reply>;
}

export const json = (body: unknown, headers?: Readonly<Record<string, string>>): Reply => ({
  type: 'json',
  status: 200,
  body,
  ...(headers ? { headers } : {}),
});

export function stream<Event>(
  batches: AsyncIterable<readonly Event[]>,
  encoder: StreamEncoder<Event>,
  headers?: Readonly<Record<string, string>>,
): Reply {
  // The pair is type-checked here; behind this line nobody looks inside an event.
  return { type: 'stream', batches, encoder: encoder as StreamEncoder<unknown>, ...(headers ? { headers } : {}) };
}
